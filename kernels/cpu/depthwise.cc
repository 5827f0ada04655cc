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

template <class T>
UHOP_INLINE Vec<T> load_strided(const T* p, std::ptrdiff_t stride) {
  if (stride == 1) return load(p);
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

template <class T>
static void planar_row(const DepthwiseRow<T>& r) {
  constexpr std::ptrdiff_t W = Simd<T>::width;
  std::ptrdiff_t lo, hi;
  interior(r, lo, hi);
  std::ptrdiff_t q = 0;
  for (; q < lo; ++q) r.out[q] = planar_pixel(r, q);
  for (; q + W <= hi; q += W) {
    Vec<T> acc{};
    for (int kh = 0; kh < r.KH; ++kh) {
      const T* row = r.rows[kh];
      for (int kw = 0; kw < r.KW; ++kw) {
        const Vec<T> x =
            row == nullptr ? Vec<T>{} : load_strided(row + q * r.stride + kw * r.dilation - r.padLeft, r.stride);
        acc = fma(splat(r.w[kh * r.KW + kw]), x, acc);
      }
    }
    if (r.bias != nullptr) acc += splat(*r.bias);
    store(r.out + q, r.relu ? relu(acc) : acc);
  }
  for (; q < r.OW; ++q) r.out[q] = planar_pixel(r, q);
}

template <class T>
static void interleaved_row(const DepthwiseRow<T>& r) {
  constexpr std::ptrdiff_t W = Simd<T>::width;
  for (std::ptrdiff_t q = 0; q < r.OW; ++q) {
    for (std::ptrdiff_t c = 0; c < r.lanes; c += W) {
      const int n = int(r.lanes - c < W ? r.lanes - c : W);
      Vec<T> acc{};
      for (int kh = 0; kh < r.KH; ++kh) {
        for (int kw = 0; kw < r.KW; ++kw) {
          const std::ptrdiff_t at = q * r.stride + kw * r.dilation - r.padLeft;
          const bool inside = r.rows[kh] != nullptr && at >= 0 && at < r.W;
          const T* x = inside ? r.rows[kh] + at * r.pitch + c : nullptr;
          const T* w = r.w + (kh * r.KW + kw) * r.tapPitch + c;
          const Vec<T> xs = !inside ? Vec<T>{} : n == W ? load(x) : load_first(x, n);
          acc = fma(n == W ? load(w) : load_first(w, n), xs, acc);
        }
      }
      if (r.bias != nullptr) acc += n == W ? load(r.bias + c) : load_first(r.bias + c, n);
      if (r.relu) acc = relu(acc);
      T* out = r.out + q * r.outPitch + c;
      if (n == W) {
        store(out, acc);
      } else {
        store_first(out, acc, n);
      }
    }
  }
}

template <class T>
static void depthwise_row(const DepthwiseRow<T>& r) {
  if (r.interleaved) {
    interleaved_row(r);
  } else {
    planar_row(r);
  }
}

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_GEMM(dtype, T, isa, MR, NR, KC)
#define UHOP_DEPTHWISE(dtype, T, isa) \
  void dtype##_depthwise__##isa(const DepthwiseRow<T>& r) { isa::depthwise_row(r); }
#define UHOP_RELU(dtype, T, isa)
#include "variants.inc"

}  // namespace uhop
