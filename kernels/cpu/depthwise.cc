#include "kernels.h"
#include "lanes.h"

// Direct depthwise convolution. Each output element starts at zero and takes its taps in the order kh, kw, whichever of
// the loops computes it. Padding is a zero that is multiplied like any other, so an infinite weight over the border
// gives NaN here as it does in the packed paths. Square kernels of 3, 5 and 7 compute several rows or pixels
// at once, so that a loaded vector serves all the sums that it is a term of; the plain loops take the rest.

namespace uhop::UHOP_ISA {

/** The input row under output row `oh` and tap row `kh`; null in the padding. */
template <class T>
UHOP_INLINE const T* row_under(const DepthwiseRows<T>& r, std::ptrdiff_t oh, std::ptrdiff_t kh) {
  const std::ptrdiff_t ih = oh * r.strideH + kh * r.dilationH - r.padTop;
  return ih < 0 || ih >= r.H ? nullptr : r.x + ih * r.W * r.lanes;
}

// Planar, the plain loops: one vector of an output row at a time.

template <class T>
static Vec<T> planar_vector(const DepthwiseRows<T>& r, std::ptrdiff_t oh, std::ptrdiff_t q) {
  constexpr int V = Simd<T>::width;
  Vec<T> acc{};
  for (std::ptrdiff_t kh = 0; kh < r.KH; ++kh) {
    const T* row = row_under(r, oh, kh);
    for (std::ptrdiff_t kw = 0; kw < r.KW; ++kw) {
      const std::ptrdiff_t at = q * r.strideW + kw * r.dilationW - r.padLeft;
      Vec<T> x{};
      if (row != nullptr && r.strideW == 1) {
        x = load_bits(row + at, columns_inside(at, r.W, V));
      } else if (row != nullptr) {
        for (int i = 0; i < V; ++i) {
          const std::ptrdiff_t from = at + i * r.strideW;
          if (from >= 0 && from < r.W) x[i] = row[from];
        }
      }
      acc = fma(splat(r.w[kh * r.KW + kw]), x, acc);
    }
  }
  return acc;
}

template <class T>
UHOP_INLINE void planar_store(const DepthwiseRows<T>& r, std::ptrdiff_t oh, std::ptrdiff_t q, Vec<T> sum) {
  if (r.bias != nullptr) sum += splat(*r.bias);
  store_most(r.out + oh * r.OW + q, r.relu ? relu(sum) : sum, r.OW - q);
}

template <class T>
static void planar_rows(const DepthwiseRows<T>& r) {
  for (std::ptrdiff_t oh = r.first; oh < r.first + r.count; ++oh) {
    for (std::ptrdiff_t q = 0; q < r.OW; q += Simd<T>::width) planar_store(r, oh, q, planar_vector(r, oh, q));
  }
}

// Planar, K×K taps, stride S in both directions, no dilation: ROWS output rows of one vector at a time.

/** The K vectors that the taps of one kernel row meet: every S-th column from p, p + 1, … on. */
template <class T, int K, int S, bool EDGE>
UHOP_INLINE void load_taps(const T* p, std::uint64_t inside, Vec<T>* x) {
  constexpr int V = Simd<T>::width;
  const auto at = [&](int i) { return EDGE ? load_bits(p + i, inside >> i) : load(p + i); };
#pragma GCC unroll 8
  for (int k = 0; k < K; k += S) {
    if constexpr (S == 1) {
      x[k] = at(k);
    } else {
      const Vec<T> a = at(k), b = at(k + V);
      x[k] = even<T>(a, b);
      if (k + 1 < K) x[k + 1] = odd<T>(a, b);
    }
  }
}

template <class T, int K, int S, int ROWS, bool EDGE>
UHOP_INLINE void planar_block(const DepthwiseRows<T>& r, std::ptrdiff_t oh, std::ptrdiff_t q, const Vec<T>* w) {
  const std::ptrdiff_t at = q * S - r.padLeft;
  const std::uint64_t inside = EDGE ? columns_inside(at, r.W, 64) : 0;
  Vec<T> acc[ROWS] = {};
#pragma GCC unroll 16
  for (int i = 0; i < (ROWS - 1) * S + K; ++i) {
    const std::ptrdiff_t ih = oh * S + i - r.padTop;
    Vec<T> x[K] = {};
    if (ih >= 0 && ih < r.H) load_taps<T, K, S, EDGE>(r.x + ih * r.W + at, inside, x);
#pragma GCC unroll 4
    for (int row = 0; row < ROWS; ++row) {
      const int kh = i - row * S;
      if (kh < 0 || kh >= K) continue;
#pragma GCC unroll 8
      for (int kw = 0; kw < K; ++kw) acc[row] = fma(w[kh * K + kw], x[kw], acc[row]);
    }
  }
#pragma GCC unroll 4
  for (int row = 0; row < ROWS; ++row) planar_store(r, oh + row, q, acc[row]);
}

template <class T, int K, int S, int ROWS>
static void planar_strip(const DepthwiseRows<T>& r, std::ptrdiff_t oh) {
  constexpr int V = Simd<T>::width;
  Vec<T> w[K * K];
#pragma GCC unroll 32
  for (int k = 0; k < K * K; ++k) w[k] = splat(r.w[k]);
  for (std::ptrdiff_t q = 0; q < r.OW; q += V) {
    const std::ptrdiff_t from = q * S - r.padLeft;
    // A stride of 2 reads a whole vector beyond its first columns.
    if (from >= 0 && from + S * V + K - 1 <= r.W && q + V <= r.OW) {
      planar_block<T, K, S, ROWS, false>(r, oh, q, w);
    } else {
      planar_block<T, K, S, ROWS, true>(r, oh, q, w);
    }
  }
}

template <class T, int K, int S>
static void planar_square(const DepthwiseRows<T>& r) {
  std::ptrdiff_t oh = r.first;
  const std::ptrdiff_t end = r.first + r.count;
  for (; oh + 4 <= end; oh += 4) planar_strip<T, K, S, 4>(r, oh);
  for (; oh + 2 <= end; oh += 2) planar_strip<T, K, S, 2>(r, oh);
  if (oh < end) planar_strip<T, K, S, 1>(r, oh);
}

// Interleaved, one vector of channels at a time: `n` of them in the last.

template <class T>
UHOP_INLINE void interleaved_store(const DepthwiseRows<T>& r, std::ptrdiff_t oh, std::ptrdiff_t q, std::ptrdiff_t c,
                                   int n, Vec<T> sum) {
  if (r.bias != nullptr) sum += load_some(r.bias + c, n);
  store_most(r.out + (oh * r.OW + q) * r.lanes + c, r.relu ? relu(sum) : sum, n);
}

template <class T>
static void interleaved_vector(const DepthwiseRows<T>& r, std::ptrdiff_t oh, std::ptrdiff_t c, int n) {
  for (std::ptrdiff_t q = 0; q < r.OW; ++q) {
    Vec<T> acc{};
    for (std::ptrdiff_t kh = 0; kh < r.KH; ++kh) {
      const T* row = row_under(r, oh, kh);
      for (std::ptrdiff_t kw = 0; kw < r.KW; ++kw) {
        const std::ptrdiff_t at = q * r.strideW + kw * r.dilationW - r.padLeft;
        const bool inside = row != nullptr && at >= 0 && at < r.W;
        const Vec<T> x = inside ? load_some(row + at * r.lanes + c, n) : Vec<T>{};
        acc = fma(load_some(r.w + (kh * r.KW + kw) * r.lanes + c, n), x, acc);
      }
    }
    interleaved_store(r, oh, q, c, n, acc);
  }
}

/** PIXELS pixels of a row from q on. */
template <class T, int K, int S, int PIXELS, bool EDGE>
UHOP_INLINE void interleaved_block(const DepthwiseRows<T>& r, std::ptrdiff_t oh, std::ptrdiff_t q, std::ptrdiff_t c,
                                   int n, const Vec<T>* w) {
  const std::ptrdiff_t at = q * S - r.padLeft;
  Vec<T> acc[PIXELS] = {};
#pragma GCC unroll 8
  for (int kh = 0; kh < K; ++kh) {
    const T* row = row_under(r, oh, kh);
#pragma GCC unroll 16
    for (int i = 0; i < (PIXELS - 1) * S + K; ++i) {
      const bool inside = row != nullptr && (!EDGE || (at + i >= 0 && at + i < r.W));
      const Vec<T> x = inside ? load_some(row + (at + i) * r.lanes + c, n) : Vec<T>{};
#pragma GCC unroll 8
      for (int pixel = 0; pixel < PIXELS; ++pixel) {
        const int kw = i - pixel * S;
        if (kw >= 0 && kw < K) acc[pixel] = fma(w[kh * K + kw], x, acc[pixel]);
      }
    }
  }
#pragma GCC unroll 8
  for (int pixel = 0; pixel < PIXELS; ++pixel) interleaved_store(r, oh, q + pixel, c, n, acc[pixel]);
}

template <class T, int K, int S>
UHOP_INLINE void interleaved_square(const DepthwiseRows<T>& r, std::ptrdiff_t oh, std::ptrdiff_t c, int n) {
  constexpr int PIXELS = 4;
  Vec<T> w[K * K];
#pragma GCC unroll 32
  for (int k = 0; k < K * K; ++k) w[k] = load_some(r.w + k * r.lanes + c, n);
  std::ptrdiff_t q = 0;
  while (q < r.OW) {
    const std::ptrdiff_t from = q * S - r.padLeft;
    if (q + PIXELS <= r.OW && from >= 0 && from + (PIXELS - 1) * S + K <= r.W) {
      interleaved_block<T, K, S, PIXELS, false>(r, oh, q, c, n, w);
      q += PIXELS;
    } else {
      interleaved_block<T, K, S, 1, true>(r, oh, q++, c, n, w);
    }
  }
}

template <class T, int K, int S>
static void interleaved_rows(const DepthwiseRows<T>& r) {
  constexpr int V = Simd<T>::width;
  for (std::ptrdiff_t oh = r.first; oh < r.first + r.count; ++oh) {
    std::ptrdiff_t c = 0;
    for (; c < r.lanes; c += V) {
      const int n = r.lanes - c < V ? int(r.lanes - c) : V;
      if constexpr (K == 0) {
        interleaved_vector(r, oh, c, n);
      } else if (n == V) {
        interleaved_square<T, K, S>(r, oh, c, V);
      } else {
        interleaved_square<T, K, S>(r, oh, c, n);
      }
    }
  }
}

template <class T, int K, int S>
static void rows_of(const DepthwiseRows<T>& r) {
  if (r.interleaved) {
    interleaved_rows<T, K, S>(r);
  } else if constexpr (K == 0) {
    planar_rows(r);
  } else {
    planar_square<T, K, S>(r);
  }
}

template <class T>
static void depthwise_rows(const DepthwiseRows<T>& r) {
  const bool square = r.KH == r.KW && r.strideH == r.strideW && r.dilationH == 1 && r.dilationW == 1;
  const std::ptrdiff_t kind = square && r.strideW <= 2 ? r.KW * 2 + r.strideW - 1 : 0;
  if (kind == 3 * 2) return rows_of<T, 3, 1>(r);
  if (kind == 3 * 2 + 1) return rows_of<T, 3, 2>(r);
  if (kind == 5 * 2) return rows_of<T, 5, 1>(r);
  if (kind == 5 * 2 + 1) return rows_of<T, 5, 2>(r);
  if (kind == 7 * 2) return rows_of<T, 7, 1>(r);
  rows_of<T, 0, 0>(r);
}

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_DEPTHWISE(dtype, T, isa) \
  void dtype##_depthwise__##isa(const DepthwiseRows<T>& r) { isa::depthwise_rows(r); }
#include "variants.inc"

}  // namespace uhop
