#include "gemm_write.h"
#include "kernels.h"
#include "simd.h"

// A few rows of A times a B that is read once, where it lies, in the order of memory: sums of all columns stay in the
// first cache while eight rows of B pass by at a time, so that the speed is that of memory. Each sum sees the same
// operations in the same order as in the tile of gemm.cc.

namespace uhop::UHOP_ISA {

constexpr int kPassing = 8;

/** sums[j][i] += Σ_{u<ROWS_OF_B} left[i][u]·b[u][j], u ascending, over all vectors j. */
template <class T, int M, int PASSING>
static void pass(const GemmTile<T>& t, const T* b, const T* left, Vec<T>* sums) {
  constexpr int W = Simd<T>::width;
  for (int j = 0; j < t.n; j += W, sums += M) {
    Vec<T> row[PASSING];
    const int n = t.n - j;
    if (n >= W) {
#pragma GCC unroll 8
      for (int u = 0; u < PASSING; ++u) row[u] = load(b + std::size_t(u) * t.bStep + j);
    } else {
#pragma GCC unroll 8
      for (int u = 0; u < PASSING; ++u) row[u] = load_some(b + std::size_t(u) * t.bStep + j, n);
    }
#pragma GCC unroll 8
    for (int i = 0; i < M; ++i) {
      Vec<T> sum = sums[i];
#pragma GCC unroll 8
      for (int u = 0; u < PASSING; ++u) sum = fma(splat(left[i * kPassing + u]), row[u], sum);
      sums[i] = sum;
    }
  }
}

template <class T, int M>
static void few_rows(const GemmTile<T>& t, T* scratch) {
  constexpr int W = Simd<T>::width;
  Vec<T>* const sums = reinterpret_cast<Vec<T>*>(scratch);
  const int vectors = (t.n + W - 1) / W;
  for (int i = 0; i < vectors * M; ++i) sums[i] = Vec<T>{};
  T left[M * kPassing];
  for (std::size_t k = 0; k < t.kc; k += kPassing) {
    const int count = t.kc - k < kPassing ? int(t.kc - k) : kPassing;
    for (int i = 0; i < M; ++i) {
      for (int u = 0; u < count; ++u) left[i * kPassing + u] = t.a[std::size_t(i) * t.aRow + (k + u) * t.aStep];
    }
    const T* b = t.b + k * t.bStep;
    if (count == kPassing) {
      pass<T, M, kPassing>(t, b, left, sums);
    } else {
      for (int u = 0; u < count; ++u) pass<T, M, 1>(t, b + std::size_t(u) * t.bStep, left + u, sums);
    }
  }
  for (int j = 0; j < vectors; ++j) {
    for (int i = 0; i < M; ++i) write_vector(t, sums[j * M + i], i, std::size_t(j) * W, t.n - j * W);
  }
}

template <class T, int M>
static void pick_rows(const GemmTile<T>& t, T* scratch) {
  if constexpr (M > 1) {
    if (t.m < M) return pick_rows<T, M - 1>(t, scratch);
  }
  few_rows<T, M>(t, scratch);
}

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_GEMM(dtype, T, isa, MR, NR, KC) \
  void dtype##_few_rows__##isa(const GemmTile<T>& t, T* scratch) { isa::pick_rows<T, kFewRows>(t, scratch); }
#include "variants.inc"

}  // namespace uhop
