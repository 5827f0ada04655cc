#pragma once
#include <cstddef>

#include "pool.h"

namespace uhop {

/** y[i] = f(x[i]) for i < length: relu and conversions. False when cancelled, with part of `y` written. */
template <class X, class Y>
bool elementwise(void (*kernel)(const X*, Y*, std::size_t), std::size_t length, const X* x, Y* y, const Crew& crew) {
  constexpr std::size_t piece = (256 << 10) / sizeof(X);
  return crew.each((length + piece - 1) / piece, [&](std::size_t i, unsigned) {
    const std::size_t from = i * piece;
    kernel(x + from, y + from, piece < length - from ? piece : length - from);
  });
}

}  // namespace uhop
