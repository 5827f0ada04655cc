#include "arguments.h"

#include <exception>
#include <new>
#include <system_error>

namespace uhop {

void check(napi_status status) {
  if (status != napi_ok) throw Pending{};
}

View view_of(napi_env env, napi_value value, const char* name) {
  View view{};
  const napi_status status =
      napi_get_typedarray_info(env, value, &view.type, &view.length, &view.data, nullptr, nullptr);
  if (status == napi_invalid_arg || status == napi_object_expected) {
    throw BadArgument{std::string(name) + ": expected a typed array"};
  }
  check(status);
  return view;
}

bool is_nothing(napi_env env, napi_value value) {
  napi_valuetype type;
  check(napi_typeof(env, value, &type));
  return type == napi_undefined || type == napi_null;
}

std::uint32_t index_of(napi_env env, napi_value value, const char* name) {
  double number = -1;
  if (napi_get_value_double(env, value, &number) != napi_ok || !(number >= 0) || number > 4294967295.0 ||
      number != double(std::uint32_t(number))) {
    throw BadArgument{std::string(name) + ": expected a small non-negative integer"};
  }
  return std::uint32_t(number);
}

napi_value guarded(napi_env env, napi_value (*body)(napi_env, napi_callback_info), napi_callback_info info) noexcept {
  try {
    return body(env, info);
  } catch (const BadArgument& bad) {
    napi_throw_type_error(env, "E_ARGUMENT", bad.message.c_str());
  } catch (const std::bad_alloc&) {
    napi_throw_error(env, "E_OUT_OF_MEMORY", "the workspace of the call cannot be allocated");
  } catch (const std::system_error& refused) {
    const std::string message = std::string("no thread can be started: ") + refused.what();
    napi_throw_error(env, "E_OUT_OF_MEMORY", message.c_str());
  } catch (const std::exception& other) {
    napi_throw_error(env, "E_NATIVE", other.what());
  } catch (const Pending&) {
    bool pending = false;
    if (napi_is_exception_pending(env, &pending) == napi_ok && !pending) {
      napi_throw_error(env, "E_NATIVE", "the JavaScript engine refused a call");
    }
  }
  return nullptr;
}

}  // namespace uhop
