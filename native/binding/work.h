#pragma once
#include <functional>

#include "../cpu/pool.h"
#include "arguments.h"

namespace uhop {

/** A checked call bound to its memory. False when cancelled. Throws std::bad_alloc. */
using Work = std::function<bool(const Crew&)>;

/** (variant, threads, shape, x, w, bias, out), the common arguments of `runSync` and `run`. */
struct BoundCall {
  unsigned threads;
  Work work;

  static constexpr std::size_t arity = 7;
  BoundCall(napi_env env, const napi_value* arguments);
};

}  // namespace uhop
