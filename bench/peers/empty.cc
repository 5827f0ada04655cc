// A call from JavaScript into an addon that does nothing: what no call can cost less than.
#include <node_api.h>

static napi_value nothing(napi_env, napi_callback_info) { return nullptr; }

NAPI_MODULE_INIT() {
  napi_value function;
  if (napi_create_function(env, "empty", NAPI_AUTO_LENGTH, nothing, nullptr, &function) != napi_ok) return nullptr;
  return function;
}
