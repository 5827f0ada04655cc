#include "kernels.h"
#include "simd.h"

// relu(x) = x > 0 ? x : (x is NaN ? NaN : 0); -0 gives 0. One load and one store per vector: memory is the limit.

namespace uhop::UHOP_ISA {

template <class T>
static void relu_all(const T* x, T* y, std::size_t n) {
  constexpr std::size_t W = Simd<T>::width;
  std::size_t i = 0;
  for (; i + W <= n; i += W) store(y + i, relu(load(x + i)));
  for (; i < n; ++i) y[i] = x[i] <= 0 ? T(0) : x[i];
}

// On the bits of a 16-bit float: negative and not NaN becomes 0. A negative NaN lies above the bits of -Inf.
template <std::uint16_t NEGATIVE_INFINITY_BITS>
static void relu_bits(const std::uint16_t* x, std::uint16_t* y, std::size_t n) {
  using V = Vec<std::uint16_t>;
  constexpr std::size_t W = Simd<std::uint16_t>::width;
  std::size_t i = 0;
  for (; i + W <= n; i += W) {
    const V v = load(x + i);
    store(y + i, ((v >= 0x8000) & (v <= NEGATIVE_INFINITY_BITS)) ? V{} : v);
  }
  for (; i < n; ++i) y[i] = x[i] >= 0x8000 && x[i] <= NEGATIVE_INFINITY_BITS ? std::uint16_t(0) : x[i];
}

static void relu_all(const F16Bits* x, F16Bits* y, std::size_t n) { relu_bits<0xfc00>(&x->bits, &y->bits, n); }
static void relu_all(const Bf16Bits* x, Bf16Bits* y, std::size_t n) { relu_bits<0xff80>(&x->bits, &y->bits, n); }

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_RELU(dtype, T, isa) \
  void dtype##_relu__##isa(const T* x, T* y, std::size_t n) { isa::relu_all(x, y, n); }
#include "variants.inc"

}  // namespace uhop
