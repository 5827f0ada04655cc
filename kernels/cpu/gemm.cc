#include "gemm_write.h"
#include "kernels.h"
#include "simd.h"

// GEMM micro-kernel after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008) and BLIS:
// the whole MR×NR tile of C stays in registers while one column of A (broadcast) meets one row of B. Edge tiles run the
// same loop on fewer rows or vectors: every element sees the same operations in the same order wherever it lies in a
// tile, and wherever its operands lie in memory.

namespace uhop::UHOP_ISA {

constexpr std::size_t kLine = 64;
/** Rows of A that lie apart are more streams than the hardware follows, so they are called for so many bytes ahead. */
constexpr std::size_t kAhead = 4 * kLine;

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

template <class T, int ROWS, int VECTORS, bool PARTIAL>
static void tile(const GemmTile<T>& t) {
  constexpr int W = Simd<T>::width;
  const int last = t.n - (VECTORS - 1) * W;
  Vec<T> acc[ROWS][VECTORS] = {};
  const T* a[ROWS];
#pragma GCC unroll 16
  for (int i = 0; i < ROWS; ++i) {
    a[i] = t.a + std::size_t(i) * t.aRow;
#pragma GCC unroll 16
    for (int j = 0; j < VECTORS; ++j) __builtin_prefetch(t.c + std::size_t(i) * t.ldc + j * W, 1);
  }
  const T* b = t.b;
  std::size_t at = 0;
  for (std::size_t k = 0; k < t.kc;) {
    if (t.aStep == 1) {
#pragma GCC unroll 16
      for (int i = 0; i < ROWS; ++i) __builtin_prefetch(a[i] + at + kAhead / sizeof(T));
    }
    const std::size_t until = t.kc - k < kLine / sizeof(T) ? t.kc : k + kLine / sizeof(T);
    for (; k < until; ++k, at += t.aStep, b += t.bStep) {
      Vec<T> row[VECTORS];
#pragma GCC unroll 16
      for (int j = 0; j < VECTORS; ++j) {
        row[j] = PARTIAL && j == VECTORS - 1 ? load_some(b + j * W, last) : load(b + j * W);
      }
#pragma GCC unroll 16
      for (int i = 0; i < ROWS; ++i) {
        const Vec<T> left = splat(a[i][at]);
#pragma GCC unroll 16
        for (int j = 0; j < VECTORS; ++j) acc[i][j] = fma(left, row[j], acc[i][j]);
      }
    }
  }
  if (last == W && !t.finish) {
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i) {
#pragma GCC unroll 16
      for (int j = 0; j < VECTORS; ++j) {
        T* c = t.c + std::size_t(i) * t.ldc + j * W;
        store(c, t.accumulate ? load(c) + acc[i][j] : acc[i][j]);
      }
    }
  } else {
    Vec<T> sums[ROWS][VECTORS];
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i) {
#pragma GCC unroll 16
      for (int j = 0; j < VECTORS; ++j) sums[i][j] = acc[i][j];
    }
    write_tile(t, &sums[0][0], ROWS, VECTORS);
  }
}

template <class T, int ROWS, int VECTORS>
static void pick_tile(const GemmTile<T>& t) {
  if constexpr (VECTORS > 1) {
    if (t.n <= (VECTORS - 1) * Simd<T>::width) return pick_tile<T, ROWS, VECTORS - 1>(t);
  }
  if constexpr (ROWS > 1) {
    if (t.m < ROWS) return pick_tile<T, ROWS - 1, VECTORS>(t);
  }
  if (!t.bPadded && t.n < VECTORS * Simd<T>::width) return tile<T, ROWS, VECTORS, true>(t);
  tile<T, ROWS, VECTORS, false>(t);
}

/** Tiles of VECTORS vectors, and of one more on as many fewer rows. */
template <class T, int MR, int VECTORS>
static void any_tile(const GemmTile<T>& t) {
  constexpr int narrow = VECTORS * Simd<T>::width;
  if (t.n <= narrow) return pick_tile<T, MR, VECTORS>(t);
  if (t.m <= MR * VECTORS / (VECTORS + 1)) return pick_tile<T, MR * VECTORS / (VECTORS + 1), VECTORS + 1>(t);
  GemmTile<T> part = t;
  part.n = narrow;
  pick_tile<T, MR, VECTORS>(part);
  part.n = t.n - narrow;
  part.b += narrow;
  part.c += narrow;
  if (t.bias != nullptr) part.bias += narrow * t.biasJ;
  pick_tile<T, MR, VECTORS>(part);
}

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_GEMM(dtype, T, isa, MR, NR, KC) \
  void dtype##_gemm__##isa##_##MR##x##NR(const GemmTile<T>& t) { isa::any_tile<T, MR, NR / isa::Simd<T>::width>(t); }
#include "variants.inc"

}  // namespace uhop
