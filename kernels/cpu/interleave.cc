#include "kernels.h"
#include "lanes.h"

// Packing that transposes: rows of an operand become lanes side by side. Blocks of L×L elements are transposed in
// registers by log2(L) rounds of exchanges between row i and row i + d, d = 1, 2, 4, … (Eklundh, "A fast computer
// method for matrix transposing", 1972).

namespace uhop::UHOP_ISA {

/** Elements of a row that are read at a time. */
constexpr std::size_t kStretch = 32;

/** The lanes of a and b whose index has bit D clear, or set, put where bit D says which of the two they came from. */
template <int D, bool HIGH, class V, int... E>
UHOP_INLINE V exchange(V a, V b, Indices<E...>) {
  constexpr int L = sizeof...(E);
  return __builtin_shufflevector(a, b, ((E & D) == 0 ? E + (HIGH ? D : 0) : E + L - (HIGH ? 0 : D))...);
}

template <int L, int D, class V>
UHOP_INLINE void transpose(V (&rows)[L]) {
  if constexpr (D < L) {
#pragma GCC unroll 32
    for (int i = 0; i < L; ++i) {
      if ((i & D) != 0) continue;
      const V low = exchange<D, false>(rows[i], rows[i + D], typename CountTo<L>::type());
      rows[i + D] = exchange<D, true>(rows[i], rows[i + D], typename CountTo<L>::type());
      rows[i] = low;
    }
    transpose<L, D * 2>(rows);
  }
}

/** The element as something that vectors can be made of. */
template <int BYTES>
struct Lane;
template <>
struct Lane<2> {
  using type = std::uint16_t;
};
template <>
struct Lane<4> {
  using type = float;
};
template <>
struct Lane<8> {
  using type = double;
};

template <int L, class T>
UHOP_INLINE void interleave_rows(const T* const* rows, std::size_t kc, std::size_t width, T* dst) {
  typedef typename Lane<sizeof(T)>::type V __attribute__((vector_size(L * sizeof(T))));
  typedef typename Lane<sizeof(T)>::type U __attribute__((vector_size(L * sizeof(T)), aligned(sizeof(T)), may_alias));
  std::size_t k = 0;
  for (; k + L <= kc; k += L) {
    V block[L];
#pragma GCC unroll 32
    for (int r = 0; r < L; ++r) block[r] = *reinterpret_cast<const U*>(rows[r] + k);
    transpose<L, 1>(block);
#pragma GCC unroll 32
    for (int r = 0; r < L; ++r) *reinterpret_cast<U*>(dst + (k + r) * width) = block[r];
  }
  for (; k < kc; ++k) {
    for (int r = 0; r < L; ++r) dst[k * width + r] = rows[r][k];
  }
}

template <class T>
static void interleave(const T* const* rows, std::size_t count, std::size_t kc, std::size_t width, T* dst) {
  static constexpr T zeros[kStretch] = {};
  constexpr int widest = kVectorBytes / int(sizeof(T)) < 16 ? kVectorBytes / int(sizeof(T)) : 16;
  for (std::size_t k = 0; k < kc; k += kStretch) {
    const std::size_t n = kc - k < kStretch ? kc - k : kStretch;
    const T* from[widest];
    T* to = dst + k * width;
    for (std::size_t r = 0; r < count;) {
      const std::size_t left = count - r;
      const int some = left < std::size_t(widest) ? int(left) : widest;
      for (int i = 0; i < some; ++i) from[i] = rows[r + i] == nullptr ? zeros : rows[r + i] + k;
      if constexpr (widest >= 16) {
        if (left >= 16) {
          interleave_rows<16>(from, n, width, to + r);
          r += 16;
          continue;
        }
      }
      if constexpr (widest >= 8) {
        if (left >= 8) {
          interleave_rows<8>(from, n, width, to + r);
          r += 8;
          continue;
        }
      }
      if (left >= 4) {
        if constexpr (widest >= 4) {
          interleave_rows<4>(from, n, width, to + r);
          r += 4;
          continue;
        }
      }
      for (std::size_t i = 0; i < n; ++i) to[i * width + r] = from[0][i];
      ++r;
    }
  }
}

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_INTERLEAVE(dtype, T, isa)                                                                                 \
  void dtype##_interleave__##isa(const T* const* rows, std::size_t count, std::size_t kc, std::size_t width, T* dst) { \
    isa::interleave(rows, count, kc, width, dst);                                                                      \
  }
#define UHOP_GEMM(dtype, T, isa, MR, NR, KC) UHOP_INTERLEAVE(dtype, T, isa)
#define UHOP_HALF_GEMM(dtype, T, isa, MR, NR, KC) UHOP_INTERLEAVE(dtype, T, isa)
#include "variants.inc"

}  // namespace uhop
