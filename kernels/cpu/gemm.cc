#include "kernels.h"
#include "simd.h"

// GEMM micro-kernel after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008) and BLIS:
// the whole MR×NR tile of C stays in registers while one column of the A panel (broadcast) meets one row of the B
// panel. Edge tiles run the same loop on fewer rows or vectors: every element sees the same operations in the same
// order wherever it lies in a tile.

namespace uhop::UHOP_ISA {

/** C, bias and activation for `n` of the elements of one vector of sums. */
template <class T>
UHOP_INLINE void write_vector(const GemmTile<T>& t, Vec<T> v, int i, int j, int n) {
  const bool whole = n == Simd<T>::width;
  T* c = t.c + std::size_t(i) * t.ldc + j;
  if (t.accumulate) v = (whole ? load(c) : load_first(c, n)) + v;
  if (t.finish) {
    if (t.bias != nullptr) {
      const T* bias = t.bias + std::size_t(i) * t.biasI + std::size_t(j) * t.biasJ;
      v += t.biasJ == 0 ? splat(*bias) : whole ? load(bias) : load_first(bias, n);
    }
    if (t.relu) v = relu(v);
  }
  if (whole) {
    store(c, v);
  } else {
    store_first(c, v, n);
  }
}

/** The tile from a copy of its sums: the way of edge tiles and of last k blocks with something to add. */
template <class T>
__attribute__((noinline)) static void write_tile(const GemmTile<T>& t, const Vec<T>* sums, int rows, int vectors) {
  constexpr int W = Simd<T>::width;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < vectors; ++j) {
      const int n = t.n - j * W < W ? t.n - j * W : W;
      write_vector(t, sums[i * vectors + j], i, j * W, n);
    }
  }
}

template <class T, int MR, int NR, int ROWS, int VECTORS>
static void tile(const GemmTile<T>& t) {
  constexpr int W = Simd<T>::width;
  Vec<T> acc[ROWS][VECTORS] = {};
  const T* a = t.a;
  const T* b = t.b;
#pragma GCC unroll 16
  for (int i = 0; i < ROWS; ++i) {
#pragma GCC unroll 16
    for (int j = 0; j < VECTORS; ++j) __builtin_prefetch(t.c + std::size_t(i) * t.ldc + j * W, 1);
  }
  for (std::size_t k = 0; k < t.kc; ++k, a += MR, b += NR) {
    Vec<T> row[VECTORS];
#pragma GCC unroll 16
    for (int j = 0; j < VECTORS; ++j) row[j] = load(b + j * W);
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i) {
      const Vec<T> left = splat(a[i]);
#pragma GCC unroll 16
      for (int j = 0; j < VECTORS; ++j) acc[i][j] = fma(left, row[j], acc[i][j]);
    }
  }
  if (t.n == VECTORS * W && !t.finish) {
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i) {
#pragma GCC unroll 16
      for (int j = 0; j < VECTORS; ++j) {
        T* c = t.c + std::size_t(i) * t.ldc + j * W;
        store(c, t.accumulate ? load(c) + acc[i][j] : acc[i][j]);
      }
    }
  } else {
    write_tile(t, &acc[0][0], ROWS, VECTORS);
  }
}

template <class T, int MR, int NR, int ROWS, int VECTORS>
static void pick_tile(const GemmTile<T>& t) {
  if constexpr (VECTORS > 1) {
    if (t.n <= (VECTORS - 1) * Simd<T>::width) return pick_tile<T, MR, NR, ROWS, VECTORS - 1>(t);
  }
  if constexpr (ROWS > 1) {
    if (t.m < ROWS) return pick_tile<T, MR, NR, ROWS - 1, VECTORS>(t);
  }
  tile<T, MR, NR, ROWS, VECTORS>(t);
}

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_GEMM(dtype, T, isa, MR, NR, KC)                    \
  void dtype##_gemm__##isa##_##MR##x##NR(const GemmTile<T>& t) { \
    isa::pick_tile<T, MR, NR, MR, NR / isa::Simd<T>::width>(t);  \
  }
#include "variants.inc"

}  // namespace uhop
