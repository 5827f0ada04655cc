#include "kernels.h"
#include "simd.h"

// Direct depthwise convolution, one output row per call. Each output element starts at zero and takes its taps in the
// order kh, kw; the vector interior and the scalar border do the same operations. Padding is a zero that is multiplied
// like any other, so an infinite weight over the border gives NaN here as it does in the packed paths.

namespace uhop::UHOP_ISA {

template <class T>
UHOP_INLINE T fma_one(T a, T b, T c) {
  Vec<T> va{}, vb{}, vc{};
  va[0] = a;
  vb[0] = b;
  vc[0] = c;
  return fma(va, vb, vc)[0];
}

template <class T, bool UNIT>
UHOP_INLINE Vec<T> load_strided(const T* p, std::ptrdiff_t stride) {
  if constexpr (UNIT) return load(p);
  Vec<T> v{};
  for (int i = 0; i < Simd<T>::width; ++i) v[i] = p[i * stride];
  return v;
}

/** Pixels [lo, hi) of an output row have all their taps inside the input row. */
template <class T>
static void interior(const DepthwiseRow<T>& r, std::ptrdiff_t& lo, std::ptrdiff_t& hi) {
  const std::ptrdiff_t last = r.W - 1 + r.padLeft - (r.KW - 1) * r.dilation;
  lo = (r.padLeft + r.stride - 1) / r.stride;
  hi = last < 0 ? 0 : last / r.stride + 1;
  if (hi > r.OW) hi = r.OW;
  if (lo > hi) lo = hi;
}

template <class T>
static T planar_pixel(const DepthwiseRow<T>& r, std::ptrdiff_t q) {
  T acc = 0;
  for (int kh = 0; kh < r.KH; ++kh) {
    for (int kw = 0; kw < r.KW; ++kw) {
      const std::ptrdiff_t at = q * r.stride + kw * r.dilation - r.padLeft;
      const bool inside = r.rows[kh] != nullptr && at >= 0 && at < r.W;
      acc = fma_one(r.w[kh * r.KW + kw], inside ? r.rows[kh][at] : T(0), acc);
    }
  }
  if (r.bias != nullptr) acc += *r.bias;
  return r.relu && acc <= 0 ? T(0) : acc;
}

/** N vectors of pixels from q on, all inside: N sums in flight hide the latency of the multiply-add. */
template <class T, int N, bool UNIT>
static void planar_block(const DepthwiseRow<T>& r, std::ptrdiff_t q) {
  constexpr std::ptrdiff_t W = Simd<T>::width;
  Vec<T> acc[N] = {};
  for (int kh = 0; kh < r.KH; ++kh) {
    const T* x = r.rows[kh] == nullptr ? nullptr : r.rows[kh] + q * r.stride - r.padLeft;
    for (int kw = 0; kw < r.KW; ++kw) {
      const Vec<T> w = splat(r.w[kh * r.KW + kw]);
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i) {
        const Vec<T> pixels =
            x == nullptr ? Vec<T>{} : load_strided<T, UNIT>(x + kw * r.dilation + i * W * r.stride, r.stride);
        acc[i] = fma(w, pixels, acc[i]);
      }
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) {
    if (r.bias != nullptr) acc[i] += splat(*r.bias);
    store(r.out + q + i * W, r.relu ? relu(acc[i]) : acc[i]);
  }
}

template <class T, bool UNIT>
static void planar_row(const DepthwiseRow<T>& r) {
  constexpr std::ptrdiff_t W = Simd<T>::width;
  std::ptrdiff_t lo, hi;
  interior(r, lo, hi);
  std::ptrdiff_t q = 0;
  for (; q < lo; ++q) r.out[q] = planar_pixel(r, q);
  for (; q + 4 * W <= hi; q += 4 * W) planar_block<T, 4, UNIT>(r, q);
  for (; q + W <= hi; q += W) planar_block<T, 1, UNIT>(r, q);
  for (; q < r.OW; ++q) r.out[q] = planar_pixel(r, q);
}

/** N vectors of channels from c on, of pixel q; the last `n` elements of one vector where N is 1. */
template <class T, int N>
UHOP_INLINE void interleaved_block(const DepthwiseRow<T>& r, std::ptrdiff_t q, std::ptrdiff_t c, int n) {
  constexpr int W = Simd<T>::width;
  const auto some = [&](const T* p, int i) { return N > 1 || n == W ? load(p + i * W) : load_first(p, n); };
  Vec<T> acc[N] = {};
  for (int kh = 0; kh < r.KH; ++kh) {
    for (int kw = 0; kw < r.KW; ++kw) {
      const std::ptrdiff_t at = q * r.stride + kw * r.dilation - r.padLeft;
      const bool inside = r.rows[kh] != nullptr && at >= 0 && at < r.W;
      const T* x = inside ? r.rows[kh] + at * r.pitch + c : nullptr;
      const T* w = r.w + (kh * r.KW + kw) * r.tapPitch + c;
#pragma GCC unroll 4
      for (int i = 0; i < N; ++i) acc[i] = fma(some(w, i), inside ? some(x, i) : Vec<T>{}, acc[i]);
    }
  }
  T* out = r.out + q * r.outPitch + c;
#pragma GCC unroll 4
  for (int i = 0; i < N; ++i) {
    if (r.bias != nullptr) acc[i] += some(r.bias + c, i);
    if (r.relu) acc[i] = relu(acc[i]);
    if (N > 1 || n == W) {
      store(out + i * W, acc[i]);
    } else {
      store_first(out, acc[i], n);
    }
  }
}

template <class T>
static void interleaved_row(const DepthwiseRow<T>& r) {
  constexpr std::ptrdiff_t W = Simd<T>::width;
  for (std::ptrdiff_t q = 0; q < r.OW; ++q) {
    std::ptrdiff_t c = 0;
    for (; c + 4 * W <= r.lanes; c += 4 * W) interleaved_block<T, 4>(r, q, c, int(W));
    for (; c < r.lanes; c += W) interleaved_block<T, 1>(r, q, c, int(r.lanes - c < W ? r.lanes - c : W));
  }
}

template <class T>
static void depthwise_row(const DepthwiseRow<T>& r) {
  if (r.interleaved) {
    interleaved_row(r);
  } else if (r.stride == 1) {
    planar_row<T, true>(r);
  } else {
    planar_row<T, false>(r);
  }
}

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_DEPTHWISE(dtype, T, isa) \
  void dtype##_depthwise__##isa(const DepthwiseRow<T>& r) { isa::depthwise_row(r); }
#include "variants.inc"

}  // namespace uhop
