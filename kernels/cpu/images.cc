#include "kernels.h"
#include "lanes.h"

// Panels of an image for implicit GEMM: under one tap, the pixels of one output row are every stride-th element of one
// input row. A vector may spill beyond its run: what comes after it in the panel is written later.

namespace uhop::UHOP_ISA {

/** Pixels of a run that fit one vector: the first under the tap (0, 0) by row, column and offset, and in the panel. */
struct Segment {
  std::ptrdiff_t ih;
  std::ptrdiff_t iw;
  std::ptrdiff_t from;
  std::ptrdiff_t at;
};

constexpr int kMostSegments = 64;
constexpr int kMostMasks = 512;

/** A vector of pixels under one tap; `inside` says which of the columns from p on it may read. */
template <class T, int STRIDE>
UHOP_INLINE Vec<T> pixels(const T* p, std::ptrdiff_t stride, std::uint64_t inside) {
  constexpr int V = Simd<T>::width;
  if constexpr (STRIDE == 1) return load_bits(p, inside);
  if constexpr (STRIDE == 2) return even<T>(load_bits(p, inside), load_bits(p + V, inside >> V));
  Vec<T> v{};
  for (int i = 0; i < V; ++i) {
    if (inside >> i & 1) v[i] = p[i * stride];
  }
  return v;
}

/** Bits of the columns that a segment may read under a tap; none where its row is in the padding. */
template <class T, int STRIDE>
static std::uint64_t inside_of(const ImagePanel<T>& p, const Segment& s, std::ptrdiff_t kh, std::ptrdiff_t kw) {
  constexpr int V = Simd<T>::width;
  const std::ptrdiff_t ih = s.ih + kh * p.dilationH, q = s.iw + kw * p.dilationW;
  if (ih < 0 || ih >= p.H) return 0;
  if constexpr (STRIDE != 0) return columns_inside(q, p.W, V * STRIDE);
  std::uint64_t bits = 0;
  for (int i = 0; i < V; ++i) bits |= std::uint64_t(q + i * p.stride >= 0 && q + i * p.stride < p.W) << i;
  return bits;
}

/** One row of the panel, from the plane's elements that the segments' offsets count from. */
template <class T, int STRIDE, bool LAST>
UHOP_INLINE void pack_row(const ImagePanel<T>& p, const T* corner, const Segment* segments, const std::uint64_t* inside,
                          int count, T* to) {
  for (int i = 0; i < count; ++i) {
    const Vec<T> v = pixels<T, STRIDE>(corner + segments[i].from, p.stride, inside[i]);
    if constexpr (LAST) {
      store_most(to + segments[i].at, v, p.width - segments[i].at);
    } else {
      store(to + segments[i].at, v);
    }
  }
}

template <class T, int STRIDE>
static void pack_strided(const ImagePanel<T>& p) {
  constexpr std::ptrdiff_t V = Simd<T>::width;
  Segment segments[kMostSegments];
  int count = 0;
  std::ptrdiff_t filled = 0;
  for (int r = 0; r < p.runCount; filled += p.runs[r++].n) {
    for (std::ptrdiff_t i = 0; i < p.runs[r].n; i += V) {
      const std::ptrdiff_t ih = p.runs[r].ih, iw = p.runs[r].iw + i * p.stride;
      segments[count++] = {ih, iw, ih * p.W + iw, filled + i};
    }
  }
  // The same columns for every channel: found out once, unless there are too many taps to remember.
  std::uint64_t masks[kMostMasks];
  const auto find = [&](std::ptrdiff_t kh, std::ptrdiff_t kw, std::uint64_t* to) {
    for (int i = 0; i < count; ++i) to[i] = inside_of<T, STRIDE>(p, segments[i], kh, kw);
  };
  const bool known = p.KH * p.KW * count <= kMostMasks;
  for (std::ptrdiff_t tap = 0; known && tap < p.KH * p.KW; ++tap) find(tap / p.KW, tap % p.KW, masks + tap * count);
  std::ptrdiff_t kh = p.kh, kw = p.kw;
  const T* plane = p.x;
  T* to = p.to;
  for (std::size_t k = 1; k <= p.kc; ++k, to += p.width) {
    if (!known) find(kh, kw, masks);
    const std::uint64_t* const inside = known ? masks + (kh * p.KW + kw) * count : masks;
    const T* const corner = plane + kh * p.dilationH * p.W + kw * p.dilationW;
    if (k < p.kc) {
      pack_row<T, STRIDE, false>(p, corner, segments, inside, count, to);
    } else {
      pack_row<T, STRIDE, true>(p, corner, segments, inside, count, to);
    }
    for (std::ptrdiff_t at = filled; at < p.width; ++at) to[at] = T(0);
    if (++kw < p.KW) continue;
    kw = 0;
    if (++kh < p.KH) continue;
    kh = 0;
    plane += p.H * p.W;
  }
}

template <class T>
static void pack_image(const ImagePanel<T>& p) {
  if (p.stride == 1) return pack_strided<T, 1>(p);
  if (p.stride == 2) return pack_strided<T, 2>(p);
  pack_strided<T, 0>(p);
}

/** 16-bit elements are copied as they are. */
template <class T>
static void pack_bits(const ImagePanel<T>& p) {
  pack_image(ImagePanel<std::uint16_t>{&p.x->bits, p.H, p.W, p.KH, p.KW, p.stride, p.dilationH, p.dilationW, p.runs,
                                       p.runCount, p.kh, p.kw, p.kc, p.width, &p.to->bits});
}

static void pack_image(const ImagePanel<F16Bits>& p) { pack_bits(p); }
static void pack_image(const ImagePanel<Bf16Bits>& p) { pack_bits(p); }

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_IMAGE(dtype, T, isa) \
  void dtype##_image__##isa(const ImagePanel<T>& p) { isa::pack_image(p); }
#include "variants.inc"

}  // namespace uhop
