#pragma once
#include <cstddef>
#include <cstdint>

// What a kernel receives. A kernel is a pure function: it allocates nothing, reports nothing, asks nothing.

namespace uhop {

struct F16Bits {
  std::uint16_t bits;
};
struct Bf16Bits {
  std::uint16_t bits;
};

/**
 * One tile of C = A·B from packed panels, m ≤ MR rows and n ≤ NR columns:
 *   s[i][j] = Σ_{k<kc} a[k·MR + i] · b[k·NR + j], k ascending
 *   C[i][j] = accumulate ? C[i][j] + s[i][j] : s[i][j]
 *   finish: C[i][j] = act(C[i][j] + bias[i·biasI + j·biasJ]), biasI and biasJ each 0 or 1
 * Panels are zero beyond m and n. Nothing outside the m×n elements of C is read or written.
 */
template <class T>
struct GemmTile {
  const T* a;
  const T* b;
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

/** y[i] = relu(x[i]) for i < n; y may be x. T is float, double, or the bits of f16 and bf16. */
template <class T>
using ReluKernel = void (*)(const T* x, T* y, std::size_t n);

/**
 * Output rows [first, first + count) of a depthwise convolution:
 *   out[p, q] = act(bias + Σ_{kh,kw} w[kh,kw] · x[p·strideH + kh·dilationH - padTop, q·strideW + kw·dilationW - padLeft])
 * where x outside H×W counts as zeros. planar (nchw): one plane of x and of out. interleaved (nhwc): one image, `lanes`
 * channels side by side at every pixel and every tap.
 */
template <class T>
struct DepthwiseRows {
  const T* x;
  const T* w;
  const T* bias;
  T* out;
  std::ptrdiff_t H;
  std::ptrdiff_t W;
  std::ptrdiff_t OW;
  std::ptrdiff_t KH;
  std::ptrdiff_t KW;
  std::ptrdiff_t strideH;
  std::ptrdiff_t strideW;
  std::ptrdiff_t dilationH;
  std::ptrdiff_t dilationW;
  std::ptrdiff_t padTop;
  std::ptrdiff_t padLeft;
  bool relu;
  bool interleaved;
  std::ptrdiff_t lanes;
  std::ptrdiff_t first;
  std::ptrdiff_t count;
};

template <class T>
using DepthwiseKernel = void (*)(const DepthwiseRows<T>&);


/** Output pixels side by side in a panel and in a row, and the input position of the first under the tap (0, 0). */
struct ImageRun {
  std::ptrdiff_t ih;
  std::ptrdiff_t iw;
  std::ptrdiff_t n;
};

/**
 * A panel of a planar image, `width` pixels for each of `kc` taps in the order c, kh, kw, from tap (kh, kw) of the plane
 * at `x` on. The runs fill the panel from the left; the rest of it, and what lies outside the image, is zero.
 */
template <class T>
struct ImagePanel {
  const T* x;
  std::ptrdiff_t H;
  std::ptrdiff_t W;
  std::ptrdiff_t KH;
  std::ptrdiff_t KW;
  std::ptrdiff_t stride;
  std::ptrdiff_t dilationH;
  std::ptrdiff_t dilationW;
  const ImageRun* runs;
  int runCount;
  std::ptrdiff_t kh;
  std::ptrdiff_t kw;
  std::size_t kc;
  std::ptrdiff_t width;
  T* to;
};

/** T is float, double, or the bits of f16 and bf16. */
template <class T>
using ImageKernel = void (*)(const ImagePanel<T>&);

/** y[i] = x[i] for i < n, exact. x may be the second half of the memory of y. T is F16Bits or Bf16Bits. */
template <class T>
using WidenKernel = void (*)(const T* x, float* y, std::size_t n);

/** y[i] = x[i] for i < n, rounded to nearest even; beyond the largest number an infinity. */
template <class T>
using NarrowKernel = void (*)(const float* x, T* y, std::size_t n);

}  // namespace uhop
