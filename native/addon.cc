#include <node_api.h>

#include "binding/arguments.h"
#include "binding/environment.h"
#include "binding/work.h"
#include "cpu/variants.h"
#include "probe/isa.h"

// What JavaScript can call. Every function re-checks the kinds and lengths of what it is given and nothing else: shapes
// and meaning are TypeScript's.

namespace uhop {

namespace {

napi_value text(napi_env env, const char* value) {
  napi_value result;
  check(napi_create_string_utf8(env, value, NAPI_AUTO_LENGTH, &result));
  return result;
}

napi_value number(napi_env env, double value) {
  napi_value result;
  check(napi_create_double(env, value, &result));
  return result;
}

napi_value boolean(napi_env env, bool value) {
  napi_value result;
  check(napi_get_boolean(env, value, &result));
  return result;
}

void set(napi_env env, napi_value object, const char* key, napi_value value) {
  check(napi_set_named_property(env, object, key, value));
}

/** runSync(variant, threads, shape, x, w, bias, out, prepacked) */
napi_value run_sync(napi_env env, napi_callback_info info) {
  const Arguments<BoundCall::arity> arguments(env, info);
  const BoundCall call(env, arguments.at);
  call.work(Crew{call.threads});
  return nullptr;
}

/** run(variant, threads, shape, x, w, bias, out, prepacked, done) → ticket; done(0 completed | 1 cancelled | 2 out of
 * memory) */
napi_value run(napi_env env, napi_callback_info info) {
  constexpr std::size_t doneAt = BoundCall::arity;
  const Arguments<doneAt + 1> arguments(env, info);
  napi_valuetype type;
  check(napi_typeof(env, arguments.at[doneAt], &type));
  if (type != napi_function) throw BadArgument{"done: expected a function"};
  BoundCall call(env, arguments.at);
  napi_value keep;
  check(napi_create_array(env, &keep));
  for (std::uint32_t i = 3; i <= doneAt; ++i) check(napi_set_element(env, keep, i - 3, arguments.at[i]));
  return number(env, Environment::of(env).start(std::move(call), keep));
}

/** cancel(ticket) */
napi_value cancel(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  Environment::of(env).cancel(index_of(env, arguments.at[0], "ticket"));
  return nullptr;
}

/** prepackedLength(variant, shape) → elements of what a call with the shape [prepack, …shape] writes; 0: nothing to
 * gain */
napi_value prepacked_length(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  return number(env, double(weight_length(env, arguments.at[0], arguments.at[1])));
}

napi_value describe(napi_env env, const Variant& variant) {
  napi_value object;
  check(napi_create_object(env, &object));
  set(env, object, "name", text(env, variant.name));
  set(env, object, "op", text(env, variant.op));
  set(env, object, "dtype", text(env, name_of(variant.dtype)));
  set(env, object, "isa", text(env, name_of(variant.isa)));
  set(env, object, "runsHere", boolean(env, runs_here(variant.isa)));
  std::visit(
      [&](const auto& kernel) {
        if constexpr (requires { kernel.KC; }) {
          set(env, object, "MR", number(env, double(kernel.MR)));
          set(env, object, "NR", number(env, double(kernel.NR)));
          set(env, object, "KC", number(env, double(kernel.KC)));
        }
      },
      variant.kernel);
  return object;
}

napi_value initialise(napi_env env, napi_value exports) {
  new Environment(env);
  napi_value list;
  check(napi_create_array_with_length(env, variants().size(), &list));
  for (std::size_t i = 0; i < variants().size(); ++i) {
    check(napi_set_element(env, list, std::uint32_t(i), describe(env, variants()[i])));
  }
  set(env, exports, "variants", list);
  const auto method = [&](const char* name, napi_callback callback) {
    napi_value value;
    check(napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &value));
    set(env, exports, name, value);
  };
  method("runSync", function<run_sync>);
  method("run", function<run>);
  method("cancel", function<cancel>);
  method("prepackedLength", function<prepacked_length>);
  return exports;
}

}  // namespace

}  // namespace uhop

NAPI_MODULE_INIT() {
  try {
    return uhop::initialise(env, exports);
  } catch (...) {
    napi_throw_error(env, "E_NATIVE", "uhop.node could not be set up in this environment");
    return nullptr;
  }
}
