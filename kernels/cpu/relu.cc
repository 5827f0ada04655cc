#include "kernels.h"
#include "simd.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// relu(x) = x > 0 ? x : (x is NaN ? NaN : 0); -0 gives 0. One load and one store per vector: memory is the limit.
// Streaming stores spare the lines of y from being read before they are written.

namespace uhop::UHOP_ISA {

/** Bytes fetched ahead of the streaming loop. */
constexpr std::size_t kAhead = 2048;

/** To aligned memory, past the caches where the instruction set can. */
template <class T>
UHOP_INLINE void stream(T* p, Vec<T> v) {
#if UHOP_REGISTER_BYTES == 64
  _mm512_stream_si512(reinterpret_cast<__m512i*>(p), __m512i(v));
#elif UHOP_REGISTER_BYTES == 32
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), __m256i(v));
#elif UHOP_REGISTER_BYTES == 16 && defined(__SSE2__)
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), __m128i(v));
#else
  store(p, v);
#endif
}

UHOP_INLINE void end_of_stream() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

template <class T>
struct Number {
  using Element = T;
  UHOP_INLINE Vec<T> of(Vec<T> v) { return relu(v); }
  UHOP_INLINE T of(T x) { return x <= 0 ? T(0) : x; }
};

/** On the bits of a 16-bit float: negative and not NaN becomes 0. A negative NaN lies above the bits of -Inf. */
template <std::uint16_t NEGATIVE_INFINITY_BITS>
struct Bits {
  using Element = std::uint16_t;
  UHOP_INLINE Vec<Element> of(Vec<Element> v) {
    return ((v >= 0x8000) & (v <= NEGATIVE_INFINITY_BITS)) ? Vec<Element>{} : v;
  }
  UHOP_INLINE Element of(Element x) { return x >= 0x8000 && x <= NEGATIVE_INFINITY_BITS ? Element(0) : x; }
};

template <class R, class T = typename R::Element>
static void relu_all(const T* x, T* y, std::size_t n, bool past) {
  constexpr std::size_t W = Simd<T>::width;
  std::size_t i = 0;
  if (past) {
    for (; i < n && reinterpret_cast<std::uintptr_t>(y + i) % kVectorBytes != 0; ++i) y[i] = R::of(x[i]);
    for (; i + 4 * W <= n; i += 4 * W) {
      Vec<T> v[4];
#pragma GCC unroll 4
      for (std::size_t j = 0; j < 4; ++j) {
        __builtin_prefetch(reinterpret_cast<const char*>(x + i + j * W) + kAhead);
        v[j] = R::of(load(x + i + j * W));
      }
#pragma GCC unroll 4
      for (std::size_t j = 0; j < 4; ++j) stream(y + i + j * W, v[j]);
    }
    end_of_stream();
  }
  for (; i + W <= n; i += W) store(y + i, R::of(load(x + i)));
  for (; i < n; ++i) y[i] = R::of(x[i]);
}

static void relu_of(const float* x, float* y, std::size_t n, bool past) { relu_all<Number<float>>(x, y, n, past); }
static void relu_of(const double* x, double* y, std::size_t n, bool past) { relu_all<Number<double>>(x, y, n, past); }
static void relu_of(const F16Bits* x, F16Bits* y, std::size_t n, bool past) {
  relu_all<Bits<0xfc00>>(&x->bits, &y->bits, n, past);
}
static void relu_of(const Bf16Bits* x, Bf16Bits* y, std::size_t n, bool past) {
  relu_all<Bits<0xff80>>(&x->bits, &y->bits, n, past);
}

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_RELU(dtype, T, isa) \
  void dtype##_relu__##isa(const T* x, T* y, std::size_t n, bool past) { isa::relu_of(x, y, n, past); }
#include "variants.inc"

}  // namespace uhop
