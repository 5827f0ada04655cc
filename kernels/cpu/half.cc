#include "kernels.h"
#include "simd.h"

// Between the bits of 16-bit floats and f32: widening is exact, narrowing rounds to nearest even, NaN stays NaN and
// keeps the first bits of its payload. f16 by F16C where the instruction set has it, else after F. Giesen, "Float->half
// conversions" (2012); bf16 is the upper half of an f32.

namespace uhop::UHOP_ISA {

using Floats = Vec<float>;
using Ints = Vec<std::int32_t>;
typedef std::uint16_t Halves __attribute__((vector_size(kVectorBytes / 2)));
constexpr std::size_t kWidth = Simd<float>::width;

/** An f32 exponent field. */
constexpr std::int32_t exponent(int power) { return (power + 127) << 23; }
constexpr std::int32_t kInfinity = exponent(128);

#if defined(__AVX512F__)
// With a full mask, because GCC 12 warns of an uninitialised value in its own header for the forms without one.
UHOP_INLINE Floats widen(Halves x, F16Bits) { return _mm512_maskz_cvtph_ps(0xffff, __m256i(x)); }
UHOP_INLINE Halves narrow(Floats x, F16Bits) {
  return Halves(_mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__F16C__) && UHOP_VECTOR_BYTES == 64
UHOP_INLINE Floats widen(Halves x, F16Bits) {
  return joined<Floats>(_mm256_cvtph_ps(half<__m128i>(x, 0)), _mm256_cvtph_ps(half<__m128i>(x, 1)));
}
UHOP_INLINE Halves narrow(Floats x, F16Bits) {
  const auto part = [&](int i) { return _mm256_cvtps_ph(half<__m256>(x, i), _MM_FROUND_TO_NEAREST_INT); };
  return joined<Halves>(part(0), part(1));
}
#elif defined(__F16C__)
UHOP_INLINE Floats widen(Halves x, F16Bits) { return _mm256_cvtph_ps(__m128i(x)); }
UHOP_INLINE Halves narrow(Floats x, F16Bits) { return Halves(_mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT)); }
#else
// Moves the exponent from bias 15 to bias 127. A subnormal becomes the digits behind a one, which is taken off again.
UHOP_INLINE Floats widen(Halves x, F16Bits) {
  const Ints bits = __builtin_convertvector(x, Ints);
  const Ints shifted = (bits & 0x7fff) << 13;
  const Ints normal = shifted + (exponent(0) - (15 << 23));
  const Ints one = Ints{} + exponent(-14);
  const Ints subnormal = Ints(Floats(shifted + one) - Floats(one));
  const Ints value = shifted < (1 << 23) ? subnormal : shifted < (31 << 23) ? normal : (shifted | kInfinity);
  return Floats(value | (bits & 0x8000) << 16);
}

// A subnormal is rounded by adding 1/2, whose last place is the smallest f16.
UHOP_INLINE Halves narrow(Floats x, F16Bits) {
  const Ints size = Ints(x) & 0x7fffffff;
  const Ints normal = (size - (exponent(0) - (15 << 23)) + 0xfff + (size >> 13 & 1)) >> 13;
  const Ints subnormal = Ints(Floats(size) + 0.5f) - exponent(-1);
  const Ints finite = size < exponent(-14) ? subnormal : normal;
  const Ints special = size > kInfinity ? (0x7e00 | (size >> 13 & 0x3ff)) : Ints{} + 0x7c00;
  const Ints value = size < exponent(16) ? finite : special;
  return __builtin_convertvector(value | (Ints(x) >> 16 & 0x8000), Halves);
}
#endif

UHOP_INLINE Floats widen(Halves x, Bf16Bits) { return Floats(__builtin_convertvector(x, Ints) << 16); }

UHOP_INLINE Halves narrow(Floats x, Bf16Bits) {
  const Ints bits = Ints(x);
  const Ints rounded = bits + 0x7fff + (bits >> 16 & 1);
  const Ints value = (bits & 0x7fffffff) > kInfinity ? (bits | 0x400000) : rounded;
  return __builtin_convertvector(value >> 16, Halves);
}

// Ascending, and each vector read before it is written: right also where x is the second half of y.
template <class T>
static void widen_all(const T* x, float* y, std::size_t n) {
  Halves v{};
  std::size_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    __builtin_memcpy(&v, x + i, sizeof(v));
    store(y + i, widen(v, T{}));
  }
  if (i == n) return;
  for (std::size_t j = i; j < n; ++j) v[j - i] = x[j].bits;
  store_most(y + i, widen(v, T{}), int(n - i));
}

template <class T>
static void narrow_all(const float* x, T* y, std::size_t n) {
  std::size_t i = 0;
  for (; i + kWidth <= n; i += kWidth) {
    const Halves v = narrow(load(x + i), T{});
    __builtin_memcpy(y + i, &v, sizeof(v));
  }
  if (i == n) return;
  const Halves v = narrow(load_some(x + i, int(n - i)), T{});
  for (std::size_t j = i; j < n; ++j) y[j].bits = v[j - i];
}

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_HALF(dtype, T, isa)                                                              \
  void dtype##_widen__##isa(const T* x, float* y, std::size_t n) { isa::widen_all(x, y, n); } \
  void dtype##_narrow__##isa(const float* x, T* y, std::size_t n) { isa::narrow_all(x, y, n); }
#include "variants.inc"

}  // namespace uhop
