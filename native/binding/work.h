#pragma once
#include <functional>

#include "../cpu/pool.h"
#include "arguments.h"

namespace uhop {

/** A checked call bound to its memory. False when cancelled. Throws std::bad_alloc. */
using Work = std::function<bool(const Crew&)>;

/**
 * (variant, threads, shape, x, w, bias, out, prepacked), the common arguments of `runSync` and `run`. A shape that
 * begins with the number of `prepack` makes the call pack x, which is its w, into `out`; what that gives is the
 * `prepacked` of the same call.
 */
struct BoundCall {
  unsigned threads;
  Work work;

  static constexpr std::size_t arity = 8;
  BoundCall(napi_env env, const napi_value* arguments);
};

/** The elements that packing the w of such a call gives; 0 when the call has no use for it. */
std::size_t weight_length(napi_env env, napi_value variant, napi_value shape);

}  // namespace uhop
