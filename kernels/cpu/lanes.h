#pragma once
#include "simd.h"

// Vectors at the edges of an image, and between neighbours in a row and neighbours in a vector.

namespace uhop::UHOP_ISA {

/** Bit i: input column q + i is inside [0, W), of `reach` columns, at most 64. */
UHOP_INLINE std::uint64_t columns_inside(std::ptrdiff_t q, std::ptrdiff_t W, int reach) {
  const std::ptrdiff_t lo = q < 0 ? -q : 0, hi = W - q < reach ? W - q : reach;
  return lo < hi ? ~std::uint64_t(0) >> (64 - (hi - lo)) << lo : 0;
}

template <int... I>
struct Indices {
  /** Every second element of a and b side by side, from element FIRST on. */
  template <int FIRST, class V>
  UHOP_INLINE V every_second(V a, V b) {
    return __builtin_shufflevector(a, b, (2 * I + FIRST)...);
  }
  /** As many elements of v as there are indices, from FIRST on. */
  template <int FIRST, class V>
  UHOP_INLINE auto part(V v) {
    return __builtin_shufflevector(v, v, (I + FIRST)...);
  }
  /** a0 b0 a1 b1 …, from element FIRST of both on. */
  template <int FIRST, class V>
  UHOP_INLINE V zip(V a, V b) {
    return __builtin_shufflevector(a, b, (I % 2 * int(sizeof...(I)) + I / 2 + FIRST)...);
  }
};

template <int N, int... I>
struct CountTo : CountTo<N - 1, N - 1, I...> {};
template <int... I>
struct CountTo<0, I...> {
  using type = Indices<I...>;
};

template <class T>
using Lanes = typename CountTo<Simd<T>::width>::type;

template <class T>
UHOP_INLINE Vec<T> even(Vec<T> a, Vec<T> b) {
  return Lanes<T>::template every_second<0>(a, b);
}
template <class T>
UHOP_INLINE Vec<T> odd(Vec<T> a, Vec<T> b) {
  return Lanes<T>::template every_second<1>(a, b);
}

/** Side by side from both: a0 b0 a1 b1 …, the first vector of it and the second. */
template <class T>
UHOP_INLINE Vec<T> zip_low(Vec<T> a, Vec<T> b) {
  return Lanes<T>::template zip<0>(a, b);
}
template <class T>
UHOP_INLINE Vec<T> zip_high(Vec<T> a, Vec<T> b) {
  return Lanes<T>::template zip<Simd<T>::width / 2>(a, b);
}

/** Rows of a square of vectors become its columns. */
template <class T>
UHOP_INLINE void transpose(Vec<T>* rows) {
  constexpr int V = Simd<T>::width;
#pragma GCC unroll 8
  for (int done = 1; done < V; done *= 2) {
    Vec<T> next[V];
#pragma GCC unroll 16
    for (int i = 0; i < V / 2; ++i) {
      next[2 * i] = zip_low<T>(rows[i], rows[i + V / 2]);
      next[2 * i + 1] = zip_high<T>(rows[i], rows[i + V / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < V; ++i) rows[i] = next[i];
  }
}

/** Bit i: lane i is zero. */
template <class T>
UHOP_INLINE std::uint64_t zero_lanes(Vec<T> v) {
#if UHOP_REGISTER_BYTES == 64
  if constexpr (sizeof(T) == 4) {
    return _mm512_cmp_ps_mask(v, Vec<T>{}, _CMP_EQ_OQ);
  } else {
    return _mm512_cmp_pd_mask(v, Vec<T>{}, _CMP_EQ_OQ);
  }
#elif UHOP_REGISTER_BYTES == 32
  if constexpr (sizeof(T) == 4) {
    return std::uint64_t(_mm256_movemask_ps(_mm256_cmp_ps(v, Vec<T>{}, _CMP_EQ_OQ)));
  } else {
    return std::uint64_t(_mm256_movemask_pd(_mm256_cmp_pd(v, Vec<T>{}, _CMP_EQ_OQ)));
  }
#else
  std::uint64_t bits = 0;
  for (int i = 0; i < Simd<T>::width; ++i) bits |= std::uint64_t(v[i] == 0) << i;
  return bits;
#endif
}

}  // namespace uhop::UHOP_ISA
