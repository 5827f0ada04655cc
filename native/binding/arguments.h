#pragma once
#include <node_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace uhop {

/** What the caller passed is not what the function takes; becomes a TypeError. */
struct BadArgument {
  std::string message;
};

/** A JavaScript exception is already pending, or the environment is closing. */
struct Pending {};

void check(napi_status status);

/** A typed array's memory. On a SharedArrayBuffer as on any other buffer; empty when detached. */
struct View {
  napi_typedarray_type type;
  std::size_t length;
  void* data;
};

View view_of(napi_env env, napi_value value, const char* name);
bool is_nothing(napi_env env, napi_value value);
std::uint32_t index_of(napi_env env, napi_value value, const char* name);

/** The arguments of a call; those left out are undefined. */
template <std::size_t N>
struct Arguments {
  napi_value at[N];

  Arguments(napi_env env, napi_callback_info info) {
    std::size_t count = N;
    check(napi_get_cb_info(env, info, &count, at, nullptr, nullptr));
  }
};

/** Runs `body` so that no C++ exception crosses into JavaScript: each becomes a JS exception and a null answer. */
napi_value guarded(napi_env env, napi_value (*body)(napi_env, napi_callback_info), napi_callback_info info) noexcept;

template <napi_value (*body)(napi_env, napi_callback_info)>
napi_value function(napi_env env, napi_callback_info info) {
  return guarded(env, body, info);
}

}  // namespace uhop
