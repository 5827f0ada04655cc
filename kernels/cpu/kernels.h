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
 * One tile of C = A·B, m ≤ MR rows and n ≤ NR columns, or one vector more:
 *   s[i][j] = Σ_{k<kc} a[i·aRow + k·aStep] · b[k·bStep + j], k ascending
 *   C[i][j] = accumulate ? C[i][j] + s[i][j] : s[i][j]
 *   finish: C[i][j] = act(C[i][j] + bias[i·biasI + j·biasJ]), biasI and biasJ each 0 or 1
 * bPadded: the rows of b may be read up to the next whole vector beyond n. Apart from that nothing outside the
 * operands' elements is read, and nothing outside the m×n elements of C is written.
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

/** The same tile with m ≤ kFewRows and any n. `scratch`: m rows of n elements rounded up to whole vectors, 64-byte
 * aligned. */
template <class T>
using FewRowsKernel = void (*)(const GemmTile<T>&, T* scratch);
constexpr int kFewRows = 8;

/**
 * dst[k·width + r] = rows[r][k] for r < count and k < kc; a null row counts as zeros. Lanes r ≥ count are left alone.
 */
template <class T>
using InterleaveKernel = void (*)(const T* const* rows, std::size_t count, std::size_t kc, std::size_t width, T* dst);

/**
 * y[i] = relu(x[i]) for i < n; y may be x. T is float, double, or the bits of f16 and bf16. `past`: y is written past
 * the caches where the instruction set can.
 */
template <class T>
using ReluKernel = void (*)(const T* x, T* y, std::size_t n, bool past);

/**
 * Output rows [first, first + count) of a depthwise convolution:
 *   out[p, q] = act(bias + Σ_{kh,kw} w[kh,kw] · x[ih, iw])
 *   ih = p·strideH + kh·dilationH - padTop, iw = q·strideW + kw·dilationW - padLeft
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
 * A panel of a planar image, `width` pixels for each of `kc` taps in the order c, kh, kw, from tap (kh, kw) of the
 * plane at `x` on. The runs fill the panel from the left; the rest of it, and what lies outside the image, is zero.
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

/**
 * Neighbouring m×m output tiles of one image, side by side in a block of tiles: the first at output pixel (oh, ow) and
 * at place `at` of the block. `x` and `out` are where the image begins in the input and in the output.
 */
struct WinogradRun {
  std::ptrdiff_t x;
  std::ptrdiff_t out;
  std::ptrdiff_t oh;
  std::ptrdiff_t ow;
  std::ptrdiff_t at;
  std::ptrdiff_t n;
};

/**
 * Filters to panels: for each of the (m+2)² positions, `stride` elements apart in `to`, panels of `width` filters
 *   to[(o / width)·C·width + c·width + o % width] = (G g Gᵀ) at the position, g the 3×3 taps of filter o and channel c
 * for the filters o < count and zeros beyond, up to a multiple of `width`. Element (o, c, tap) lies at
 * w[o·strideO + c·strideC + tap·strideTap]; strideO or strideTap is 1.
 */
template <class T>
struct WinogradFilters {
  const T* w;
  std::ptrdiff_t strideO;
  std::ptrdiff_t strideC;
  std::ptrdiff_t strideTap;
  std::ptrdiff_t C;
  std::ptrdiff_t count;
  std::ptrdiff_t width;
  T* to;
  std::ptrdiff_t stride;
};

/**
 * Tiles of the input to panels: for each position, panels of `width` tiles
 *   to[(t / width)·C·width + c·width + t % width] = (Bᵀ d B) at the position, d the (m+2)² inputs of c under tile t
 * planar: `x` is a plane, the next channel's H·W further; a run lies in one panel.
 * interleaved: `pitch` channels at every pixel; a run is one tile, and places follow each other without a gap.
 */
template <class T>
struct WinogradInput {
  const T* x;
  std::ptrdiff_t H;
  std::ptrdiff_t W;
  std::ptrdiff_t C;
  std::ptrdiff_t padTop;
  std::ptrdiff_t padLeft;
  bool interleaved;
  std::ptrdiff_t pitch;
  const WinogradRun* runs;
  int runCount;
  std::ptrdiff_t width;
  T* to;
  std::ptrdiff_t stride;
};

/**
 * Output tiles from their products: out = act(Aᵀ M A + bias).
 * planar: one filter; the products of tile t lie at m[position·stride + t], the plane at `out`.
 * interleaved: one tile per run and `count` ≤ 64 filters; those of filter o at m[position·stride + t·pitch + o], pixels
 * `outPitch` apart in `out`.
 * bad[i] gets a bit for each of run i's tiles (planar, at most 64) or filters (interleaved) that has an output that is
 * not finite; the answer is whether there is one. Up to a vector beyond the products is read.
 */
template <class T>
struct WinogradOutput {
  const T* m;
  std::ptrdiff_t stride;
  std::ptrdiff_t pitch;
  T* out;
  std::ptrdiff_t OH;
  std::ptrdiff_t OW;
  std::ptrdiff_t outPitch;
  const T* bias;
  bool relu;
  bool interleaved;
  std::ptrdiff_t count;
  const WinogradRun* runs;
  int runCount;
  std::uint64_t* bad;
};

/** Winograd's minimal filtering F(m×m, 3×3): its three transforms. */
template <class T>
struct WinogradKernels {
  void (*filters)(const WinogradFilters<T>&);
  void (*input)(const WinogradInput<T>&);
  bool (*output)(const WinogradOutput<T>&);
};

/** y[i] = x[i] for i < n, exact. x may be the second half of the memory of y. T is F16Bits or Bf16Bits. */
template <class T>
using WidenKernel = void (*)(const T* x, float* y, std::size_t n);

/** y[i] = x[i] for i < n, rounded to nearest even; beyond the largest number an infinity. */
template <class T>
using NarrowKernel = void (*)(const float* x, T* y, std::size_t n);

}  // namespace uhop
