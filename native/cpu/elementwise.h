#pragma once
#include <cstddef>

#include "../../kernels/cpu/kernels.h"
#include "pool.h"

namespace uhop {

/** y[i] = f(x[i]) for i < length, piece by piece: kernel(x, y, n). False when cancelled, with part of `y` written. */
template <class Kernel, class X, class Y>
bool elementwise(const Kernel& kernel, std::size_t length, const X* x, Y* y, const Crew& crew) {
  constexpr std::size_t piece = (256 << 10) / sizeof(X);
  return crew.each((length + piece - 1) / piece, [&](std::size_t i, unsigned) {
    const std::size_t from = i * piece;
    kernel(x + from, y + from, piece < length - from ? piece : length - from);
  });
}

/** A result this large is written past the caches: it would not stay in them for its next reader. */
constexpr std::size_t kPastCaches = 16 << 20;

template <class T>
bool relu(ReluKernel<T> kernel, std::size_t length, const T* x, T* y, const Crew& crew) {
  const bool past = x != y && length >= kPastCaches / sizeof(T);
  const auto piece = [=](const T* from, T* to, std::size_t n) { kernel(from, to, n, past); };
  return elementwise(piece, length, x, y, crew);
}

}  // namespace uhop
