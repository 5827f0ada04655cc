#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

// The widest vectors of the instruction set that this object is compiled for, or of UHOP_VECTOR_BYTES: with AVX2 that
// may be 64, and a vector is then two registers, for which UHOP_REGISTER_BYTES is 0. Everything here is always inlined
// and lives in a namespace named after the instruction set, so the linker can never merge a function compiled for one
// instruction set with another's. FMA is explicit: the compiler contracts nothing (-ffp-contract=off).

#define UHOP_INLINE static inline __attribute__((always_inline))

namespace uhop::UHOP_ISA {

#if defined(UHOP_VECTOR_BYTES)
constexpr int kVectorBytes = UHOP_VECTOR_BYTES;
#define UHOP_REGISTER_BYTES 0
#elif defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#define UHOP_REGISTER_BYTES 64
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#define UHOP_REGISTER_BYTES 32
#else
constexpr int kVectorBytes = 16;
#define UHOP_REGISTER_BYTES 16
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

/** The elements whose bits are set, the rest zero; touches no memory of those. */
template <class T>
UHOP_INLINE Vec<T> load_bits(const T* p, std::uint64_t bits) {
#if UHOP_REGISTER_BYTES == 64
  if constexpr (sizeof(T) == 2) {
    return (Vec<T>)_mm512_maskz_loadu_epi16(__mmask32(bits), p);
  } else if constexpr (sizeof(T) == 4) {
    return (Vec<T>)_mm512_maskz_loadu_ps(__mmask16(bits), p);
  } else {
    return (Vec<T>)_mm512_maskz_loadu_pd(__mmask8(bits), p);
  }
#else
  constexpr std::uint64_t all = (std::uint64_t(1) << Simd<T>::width) - 1;
  if ((bits & all) == all) return load(p);
#if UHOP_REGISTER_BYTES == 32
  if constexpr (sizeof(T) == 4) {
    const Vec<std::int32_t> lane = {1, 2, 4, 8, 16, 32, 64, 128};
    return (Vec<T>)_mm256_maskload_epi32(reinterpret_cast<const int*>(p), __m256i((lane & int(bits)) != 0));
  } else if constexpr (sizeof(T) == 8) {
    const Vec<std::int64_t> lane = {1, 2, 4, 8};
    return (Vec<T>)_mm256_maskload_epi64(reinterpret_cast<const long long*>(p),
                                         __m256i((lane & std::int64_t(bits)) != 0));
  }
#endif
  Vec<T> v{};
  for (int i = 0; i < Simd<T>::width; ++i) {
    if (bits >> i & 1) v[i] = p[i];
  }
  return v;
#endif
}

/** The first n elements, 0 ≤ n ≤ width, the rest zero; touches no memory beyond them. */
template <class T>
UHOP_INLINE Vec<T> load_some(const T* p, int n) {
  return n == Simd<T>::width ? load(p) : load_bits(p, (std::uint64_t(1) << n) - 1);
}

/** The first n elements, 0 ≤ n; the whole vector from its width on. */
template <class T>
UHOP_INLINE void store_most(T* p, Vec<T> v, std::ptrdiff_t n) {
  if (n >= Simd<T>::width) return store(p, v);
#if UHOP_REGISTER_BYTES == 64
  const std::uint32_t mask = (std::uint32_t(1) << n) - 1;
  if constexpr (sizeof(T) == 2) {
    _mm512_mask_storeu_epi16(p, mask, __m512i(v));
  } else if constexpr (sizeof(T) == 4) {
    _mm512_mask_storeu_ps(p, __mmask16(mask), __m512(v));
  } else {
    _mm512_mask_storeu_pd(p, __mmask8(mask), __m512d(v));
  }
#else
#if UHOP_REGISTER_BYTES == 32
  if constexpr (sizeof(T) == 4) {
    const Vec<std::int32_t> lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return _mm256_maskstore_epi32(reinterpret_cast<int*>(p), __m256i(lane < int(n)), __m256i(v));
  } else if constexpr (sizeof(T) == 8) {
    const Vec<std::int64_t> lane = {0, 1, 2, 3};
    return _mm256_maskstore_epi64(reinterpret_cast<long long*>(p), __m256i(lane < std::int64_t(n)), __m256i(v));
  }
#endif
  for (int i = 0; i < n; ++i) p[i] = v[i];
#endif
}

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
