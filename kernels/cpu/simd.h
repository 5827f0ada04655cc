#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

// The widest vectors of the instruction set that this object is compiled for, or of UHOP_VECTOR_BYTES: with AVX2 that
// may be 64, and a vector is then two registers. Everything here is always inlined and
// lives in a namespace named after the instruction set, so the linker can never merge a function compiled for one
// instruction set with another's. FMA is explicit: the compiler contracts nothing (-ffp-contract=off).

#define UHOP_INLINE static inline __attribute__((always_inline))

namespace uhop::UHOP_ISA {

#if defined(UHOP_VECTOR_BYTES)
constexpr int kVectorBytes = UHOP_VECTOR_BYTES;
#elif defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

template <class T>
struct Simd {
  static constexpr int width = kVectorBytes / int(sizeof(T));
  typedef T V __attribute__((vector_size(kVectorBytes)));
  typedef T Unaligned __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
};

template <class T>
using Vec = typename Simd<T>::V;

template <class T>
UHOP_INLINE Vec<T> load(const T* p) {
  return *reinterpret_cast<const typename Simd<T>::Unaligned*>(p);
}

template <class T>
UHOP_INLINE void store(T* p, Vec<T> v) {
  *reinterpret_cast<typename Simd<T>::Unaligned*>(p) = v;
}

template <class T>
UHOP_INLINE Vec<T> splat(T x) {
  return x - Vec<T>{};
}

/** The first n of a vector's elements, 0 < n < width, the rest zero; touches no memory beyond them. */
template <class T>
UHOP_INLINE Vec<T> load_first(const T* p, int n) {
  Vec<T> v{};
  for (int i = 0; i < n; ++i) v[i] = p[i];
  return v;
}

template <class T>
UHOP_INLINE void store_first(T* p, Vec<T> v, int n) {
  for (int i = 0; i < n; ++i) p[i] = v[i];
}

#if defined(__AVX512F__)
UHOP_INLINE Vec<float> load_first(const float* p, int n) { return _mm512_maskz_loadu_ps(__mmask16((1u << n) - 1), p); }
UHOP_INLINE Vec<double> load_first(const double* p, int n) { return _mm512_maskz_loadu_pd(__mmask8((1u << n) - 1), p); }
UHOP_INLINE void store_first(float* p, Vec<float> v, int n) { _mm512_mask_storeu_ps(p, __mmask16((1u << n) - 1), v); }
UHOP_INLINE void store_first(double* p, Vec<double> v, int n) { _mm512_mask_storeu_pd(p, __mmask8((1u << n) - 1), v); }
#elif defined(__AVX2__)
UHOP_INLINE __m256i first_lanes32(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
UHOP_INLINE __m256i first_lanes64(int n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
UHOP_INLINE Vec<float> load_first(const float* p, int n) { return _mm256_maskload_ps(p, first_lanes32(n)); }
UHOP_INLINE Vec<double> load_first(const double* p, int n) { return _mm256_maskload_pd(p, first_lanes64(n)); }
UHOP_INLINE void store_first(float* p, Vec<float> v, int n) { _mm256_maskstore_ps(p, first_lanes32(n), v); }
UHOP_INLINE void store_first(double* p, Vec<double> v, int n) { _mm256_maskstore_pd(p, first_lanes64(n), v); }
#endif

#if defined(__AVX512F__)
UHOP_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm512_fmadd_ps(a, b, c); }
UHOP_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(__AVX2__) && UHOP_VECTOR_BYTES == 64
/** Two registers as one vector. */
template <class V, class Register>
UHOP_INLINE V joined(Register low, Register high) {
  V v;
  __builtin_memcpy(&v, &low, sizeof(low));
  __builtin_memcpy(reinterpret_cast<char*>(&v) + sizeof(low), &high, sizeof(high));
  return v;
}

template <class Register, class V>
UHOP_INLINE Register half(const V& v, int which) {
  Register one;
  __builtin_memcpy(&one, reinterpret_cast<const char*>(&v) + which * sizeof(one), sizeof(one));
  return one;
}

UHOP_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
  const auto part = [&](int i) { return _mm256_fmadd_ps(half<__m256>(a, i), half<__m256>(b, i), half<__m256>(c, i)); };
  return joined<Vec<float>>(part(0), part(1));
}
UHOP_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
  const auto part = [&](int i) {
    return _mm256_fmadd_pd(half<__m256d>(a, i), half<__m256d>(b, i), half<__m256d>(c, i));
  };
  return joined<Vec<double>>(part(0), part(1));
}
#elif defined(__AVX2__)
UHOP_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return _mm256_fmadd_ps(a, b, c); }
UHOP_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return _mm256_fmadd_pd(a, b, c); }
#elif defined(__ARM_NEON)
UHOP_INLINE Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) { return vfmaq_f32(c, a, b); }
UHOP_INLINE Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) { return vfmaq_f64(c, a, b); }
#else
template <class V>
UHOP_INLINE V fma(V a, V b, V c) {
  return a * b + c;
}
#endif

/** x > 0 ? x : (x is NaN ? x : 0), so that -0 becomes 0. */
template <class V>
UHOP_INLINE V relu(V x) {
  return x <= 0 ? V{} : x;
}

}  // namespace uhop::UHOP_ISA
