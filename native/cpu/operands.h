#pragma once
#include <cstddef>
#include <limits>

#include "variants.h"

namespace uhop {

/** Where the data of one call lies. `w` and `bias` are null when the op has none, `prepacked` when w was not prepacked.
 */
template <class T>
struct Operands {
  const T* x;
  const T* w;
  const T* bias;
  T* out;
  const Sum<T>* prepacked = nullptr;
};

/** a·b, or the largest size when that does not fit: such a count fails every comparison with a real length. */
inline std::size_t times(std::size_t a, std::size_t b) {
  std::size_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::size_t>::max() : product;
}

constexpr std::size_t parts(std::size_t n, std::size_t size) { return (n + size - 1) / size; }
constexpr std::size_t round_up(std::size_t n, std::size_t to) { return parts(n, to) * to; }

inline std::size_t plus(std::size_t a, std::size_t b) {
  std::size_t sum;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::size_t>::max() : sum;
}

}  // namespace uhop
