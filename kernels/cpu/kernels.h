#pragma once
#include <cstddef>
#include <cstdint>

// What a kernel receives. A kernel is a pure function: it allocates nothing, reports nothing, asks nothing.

namespace uhop {

/**
 * One tile of C = A·B, m ≤ MR rows and n ≤ NR columns, or one vector more:
 *   s[i][j] = Σ_{k<kc} a[i·aRow + k·aStep] · b[k·bStep + j], k ascending
 *   C[i][j] = accumulate ? C[i][j] + s[i][j] : s[i][j]
 *   finish: C[i][j] = act(C[i][j] + bias[i·biasI + j·biasJ]), biasI and biasJ each 0 or 1
 * bPadded: the rows of b may be read up to the next whole vector beyond n. Apart from that nothing outside the operands'
 * elements is read, and nothing outside the m×n elements of C is written.
 */
template <class T>
struct GemmTile {
  const T* a;
  std::size_t aRow;
  std::size_t aStep;
  const T* b;
  std::size_t bStep;
  bool bPadded;
  std::size_t kc;
  T* c;
  std::size_t ldc;
  int m;
  int n;
  bool accumulate;
  bool finish;
  bool relu;
  const T* bias;
  std::size_t biasI;
  std::size_t biasJ;
};

template <class T>
using GemmKernel = void (*)(const GemmTile<T>&);

/** The same tile with m ≤ kFewRows and any n. `scratch`: m rows of n elements rounded up to whole vectors, 64-byte aligned. */
template <class T>
using FewRowsKernel = void (*)(const GemmTile<T>&, T* scratch);
constexpr int kFewRows = 8;

/**
 * dst[k·width + r] = rows[r][k] for r < count and k < kc; a null row counts as zeros. Lanes r ≥ count are left alone.
 */
template <class T>
using InterleaveKernel = void (*)(const T* const* rows, std::size_t count, std::size_t kc, std::size_t width, T* dst);

/** y[i] = relu(x[i]) for i < n; y may be x. T is float, double, or the bits of f16 and bf16. */
template <class T>
using ReluKernel = void (*)(const T* x, T* y, std::size_t n);

/**
 * One row of a depthwise convolution:
 *   out[q] = act(bias + Σ_{kh,kw} w[kh,kw] · x[kh, q·stride + kw·dilation - padLeft])
 * `rows[kh]` is null where the tap's row lies in the padding, which counts as zeros.
 * planar (nchw): q runs over OW pixels of one channel.
 * interleaved (nhwc): `lanes` channels side by side at every pixel, pixels `pitch` elements apart in x and `outPitch` in
 * out, taps `tapPitch` apart in w.
 */
template <class T>
struct DepthwiseRow {
  const T* const* rows;
  const T* w;
  const T* bias;
  T* out;
  std::ptrdiff_t W;
  std::ptrdiff_t OW;
  int KH;
  int KW;
  std::ptrdiff_t stride;
  std::ptrdiff_t dilation;
  std::ptrdiff_t padLeft;
  bool relu;
  bool interleaved;
  std::ptrdiff_t lanes;
  std::ptrdiff_t pitch;
  std::ptrdiff_t outPitch;
  std::ptrdiff_t tapPitch;
};

template <class T>
using DepthwiseKernel = void (*)(const DepthwiseRow<T>&);

struct F16Bits {
  std::uint16_t bits;
};
struct Bf16Bits {
  std::uint16_t bits;
};

/** y[i] = x[i] for i < n, exact. x may be the second half of the memory of y. T is F16Bits or Bf16Bits. */
template <class T>
using WidenKernel = void (*)(const T* x, float* y, std::size_t n);

/** y[i] = x[i] for i < n, rounded to nearest even; beyond the largest number an infinity. */
template <class T>
using NarrowKernel = void (*)(const float* x, T* y, std::size_t n);

}  // namespace uhop
