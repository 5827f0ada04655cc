#include "filtering.h"
#include "kernels.h"

// The transforms of Winograd's minimal filtering, to panels and from products.

namespace uhop::UHOP_ISA {

/** Channels whose filters are fetched ahead. */
constexpr std::ptrdiff_t kAhead = 4;

template <class T, int M>
static void filters_planar(const WinogradFilters<T>& f) {
  constexpr int V = Simd<T>::width, P = M + 2;
  const std::ptrdiff_t end = (f.count + f.width - 1) / f.width * f.width;
  for (std::ptrdiff_t o = 0; o < end;) {
    const Across<T> across(f.width, f.C * f.width, o, end);
    for (std::ptrdiff_t c = 0; c < f.C; c += V) {
      // The taps of V channels lie side by side: V filters of them are turned V elements at a time.
      const std::ptrdiff_t channels = f.C - c < V ? f.C - c : V;
      Vec<T> taps[9 * V];
      for (std::ptrdiff_t k = 0; k < channels * 9; k += V) {
        const std::ptrdiff_t n = channels * 9 - k < V ? channels * 9 - k : V;
        const T* from = f.w + o * f.strideO + c * f.strideC + k;
        if (n == V && o + V <= f.count) {
#pragma GCC unroll 16
          for (int i = 0; i < V; ++i) taps[k + i] = load(from + i * f.strideO);
        } else {
          for (int i = 0; i < V; ++i, from += f.strideO) {
            taps[k + i] = o + i < f.count ? load_some(from, int(n)) : Vec<T>{};
          }
        }
        transpose<T>(taps + k);
      }
      T* to = f.to + c * f.width;
      for (std::ptrdiff_t i = 0; i < channels; ++i, to += f.width) {
        Vec<T> g[3][3], u[P][P];
#pragma GCC unroll 16
        for (int tap = 0; tap < 9; ++tap) g[tap / 3][tap % 3] = taps[i * 9 + tap];
        both_ways<typename Filtering<M>::Filter>(g, u);
        across.store(to, f.stride, u, c + i + 1 == f.C);
      }
    }
    o += across.lanes();
  }
}

template <class T, int M>
static void filters_interleaved(const WinogradFilters<T>& f) {
  constexpr int V = Simd<T>::width, P = M + 2;
  const std::ptrdiff_t end = (f.count + f.width - 1) / f.width * f.width;
  for (std::ptrdiff_t c = 0; c < f.C; ++c) {
    for (std::ptrdiff_t o = 0; o < end;) {
      const Across<T> across(f.width, f.C * f.width, o, end);
      const std::ptrdiff_t left = f.count - o;
      const int n = left < 0 ? 0 : left < V ? int(left) : V;
      Vec<T> g[3][3], u[P][P];
#pragma GCC unroll 16
      for (int tap = 0; tap < 9; ++tap) {
        const T* const from = f.w + tap * f.strideTap + c * f.strideC + o;
        // The rows lie far apart, and each is read for too short a while to be fetched ahead by itself.
        __builtin_prefetch(from + kAhead * f.strideC);
        g[tap / 3][tap % 3] = load_some(from, n);
      }
      both_ways<typename Filtering<M>::Filter>(g, u);
      across.store(f.to + c * f.width, f.stride, u, c + 1 == f.C);
      o += across.lanes();
    }
  }
}

template <class T, int M>
static void filters_of(const WinogradFilters<T>& f) {
  f.strideTap == 1 ? filters_planar<T, M>(f) : filters_interleaved<T, M>(f);
}

/** d[j] = every M-th column from p + j on; `inside` says which may be read: bit i of word w the column p + 32·w + i. */
template <class T, int M, bool EDGE>
UHOP_INLINE void load_columns(const T* p, const std::uint64_t* inside, Vec<T> (&d)[M + 2]) {
  constexpr int V = Simd<T>::width;
  const auto at = [&](int i) { return EDGE ? load_bits(p + i, inside[i / 32] >> i % 32) : load(p + i); };
  if constexpr (M == 2) {
    const Vec<T> a = at(0), b = at(V), c = at(2), e = at(V + 2);
    d[0] = even<T>(a, b);
    d[1] = odd<T>(a, b);
    d[2] = even<T>(c, e);
    d[3] = odd<T>(c, e);
  } else {
    const auto halves = [&](int from, Vec<T>& evens, Vec<T>& odds) {
      const Vec<T> a = at(from), b = at(from + V), c = at(from + 2 * V), e = at(from + 3 * V);
      const Vec<T> ab = even<T>(a, b), ce = even<T>(c, e);
      const Vec<T> abOdd = odd<T>(a, b), ceOdd = odd<T>(c, e);
      evens = even<T>(ab, ce);
      odds = even<T>(abOdd, ceOdd);
      if (from == 0) {
        d[2] = odd<T>(ab, ce);
        d[3] = odd<T>(abOdd, ceOdd);
      }
    };
    halves(0, d[0], d[1]);
    halves(4, d[4], d[5]);
  }
}

template <class T, int M, bool EDGE>
static void input_run(const WinogradInput<T>& in, const WinogradRun& run) {
  constexpr int V = Simd<T>::width, P = M + 2;
  const std::ptrdiff_t ih = run.oh - in.padTop, iw = run.ow - in.padLeft;
  std::uint64_t columns[2] = {}, inside[P][2] = {};
  for (int i = 0; EDGE && i < 2; ++i) columns[i] = columns_inside(iw + i * 32, in.W, 64);
  for (int i = 0; EDGE && i < P; ++i) {
    for (int j = 0; j < 2; ++j) inside[i][j] = ih + i >= 0 && ih + i < in.H ? columns[j] : 0;
  }
  const T* plane = in.x + run.x + ih * in.W + iw;
  const std::ptrdiff_t lane = run.at % in.width;
  T* to = in.to + run.at / in.width * in.C * in.width + lane;
  for (std::ptrdiff_t c = 0; c < in.C; ++c, plane += in.H * in.W, to += in.width) {
    Vec<T> d[P][P], v[P][P];
#pragma GCC unroll 8
    for (int i = 0; i < P; ++i) load_columns<T, M, EDGE>(plane + i * in.W, inside[i], d[i]);
    both_ways<typename Filtering<M>::Input>(d, v);
    // What spills beyond the run is written later, unless it would leave the row.
    if (lane + V <= in.width) {
#pragma GCC unroll 64
      for (int position = 0; position < P * P; ++position) {
        store(to + position * in.stride, v[position / P][position % P]);
      }
    } else {
#pragma GCC unroll 64
      for (int position = 0; position < P * P; ++position) {
        store_most(to + position * in.stride, v[position / P][position % P], in.width - lane);
      }
    }
  }
}

/** V channels of tiles from `first` on; each tile's channels are turned into channels' tiles. How many tiles. */
template <class T, int M>
static int input_square(const WinogradInput<T>& in, int first, std::ptrdiff_t c, int channels) {
  constexpr int V = Simd<T>::width, P = M + 2;
  const std::ptrdiff_t end = (in.runCount + in.width - 1) / in.width * in.width;
  const Across<T> across(in.width, in.C * in.width, first, end);
  const int lanes = int(across.lanes()), tiles = in.runCount - first < lanes ? in.runCount - first : lanes;
  Vec<T> turned[P * P][V];
  for (int t = 0; t < tiles; ++t) {
    const WinogradRun& run = in.runs[first + t];
    const std::ptrdiff_t ih = run.oh - in.padTop, iw = run.ow - in.padLeft;
    const T* corner = in.x + run.x + (ih * in.W + iw) * in.pitch + c;
    Vec<T> d[P][P], v[P][P];
    const bool whole = ih >= 0 && iw >= 0 && ih + P <= in.H && iw + P <= in.W && channels == V;
#pragma GCC unroll 8
    for (int i = 0; i < P; ++i) {
#pragma GCC unroll 8
      for (int j = 0; j < P; ++j) {
        const T* from = corner + (i * in.W + j) * in.pitch;
        const bool inside = ih + i >= 0 && ih + i < in.H && iw + j >= 0 && iw + j < in.W;
        d[i][j] = whole ? load(from) : inside ? load_some(from, channels) : Vec<T>{};
      }
    }
    both_ways<typename Filtering<M>::Input>(d, v);
#pragma GCC unroll 64
    for (int position = 0; position < P * P; ++position) turned[position][t] = v[position / P][position % P];
  }
  for (int position = 0; position < P * P; ++position) {
    for (int t = tiles; t < V; ++t) turned[position][t] = Vec<T>{};
    transpose<T>(turned[position]);
    T* to = in.to + position * in.stride + c * in.width;
    for (int i = 0; i < channels; ++i, to += in.width) across.store(to, turned[position][i], c + i + 1 == in.C);
  }
  return lanes;
}

template <class T, int M>
static void input_of(const WinogradInput<T>& in) {
  constexpr int V = Simd<T>::width, P = M + 2;
  if (in.interleaved) {
    for (int first = 0, lanes = 0; first < in.runCount; first += lanes) {
      for (std::ptrdiff_t c = 0; c < in.C; c += V) {
        lanes = input_square<T, M>(in, first, c, in.C - c < V ? int(in.C - c) : V);
      }
    }
    return;
  }
  for (int i = 0; i < in.runCount; ++i) {
    WinogradRun run = in.runs[i];
    const std::ptrdiff_t ih = run.oh - in.padTop, end = run.at + run.n;
    for (; run.at < end; run.at += V, run.ow += M * V) {
      const std::ptrdiff_t iw = run.ow - in.padLeft;
      const bool whole = ih >= 0 && ih + P <= in.H && iw >= 0 && iw + M * V + M <= in.W;
      whole ? input_run<T, M, false>(in, run) : input_run<T, M, true>(in, run);
    }
  }
}

/** Sums of products to outputs; the lanes that have one that is not finite are not zero in the answer. */
template <class T, int M>
UHOP_INLINE Vec<T> finish(const T* m, std::ptrdiff_t stride, Vec<T> bias, bool relued, Vec<T> (&y)[M][M]) {
  constexpr int P = M + 2;
  Vec<T> sums[P][P];
#pragma GCC unroll 64
  for (int position = 0; position < P * P; ++position) sums[position / P][position % P] = load(m + position * stride);
  both_ways<typename Filtering<M>::Output>(sums, y);
  const Vec<T> scale = splat(T(Filtering<M>::scale));
  Vec<T> probe{};
#pragma GCC unroll 16
  for (int i = 0; i < M * M; ++i) {
    Vec<T>& out = y[i / M][i % M];
    out = fma(out, scale, bias);
    probe += out - out;
    if (relued) out = relu(out);
  }
  return probe;
}

/** The rows of up to a vector of tiles, m columns of each side by side. */
template <class T, int M>
UHOP_INLINE void store_tiles(const WinogradOutput<T>& out, const WinogradRun& run, std::ptrdiff_t columns,
                             Vec<T> (&y)[M][M]) {
  constexpr int V = Simd<T>::width;
#pragma GCC unroll 4
  for (int i = 0; i < M; ++i) {
    if (run.oh + i >= out.OH) break;
    T* const to = out.out + run.out + (run.oh + i) * out.OW + run.ow;
    const auto put = [&](int from, Vec<T> v) {
      if (from < columns) store_most(to + from, v, columns - from);
    };
    if constexpr (M == 2) {
      put(0, zip_low<T>(y[i][0], y[i][1]));
      put(V, zip_high<T>(y[i][0], y[i][1]));
    } else {
      const Vec<T> evenLow = zip_low<T>(y[i][0], y[i][2]), evenHigh = zip_high<T>(y[i][0], y[i][2]);
      const Vec<T> oddLow = zip_low<T>(y[i][1], y[i][3]), oddHigh = zip_high<T>(y[i][1], y[i][3]);
      put(0, zip_low<T>(evenLow, oddLow));
      put(V, zip_high<T>(evenLow, oddLow));
      put(2 * V, zip_low<T>(evenHigh, oddHigh));
      put(3 * V, zip_high<T>(evenHigh, oddHigh));
    }
  }
}

template <class T, int M>
static bool output_planar(const WinogradOutput<T>& out) {
  constexpr int V = Simd<T>::width;
  const Vec<T> bias = splat(out.bias == nullptr ? T(0) : *out.bias);
  std::uint64_t any = 0;
  for (int r = 0; r < out.runCount; ++r) {
    WinogradRun run = out.runs[r];
    out.bad[r] = 0;
    for (std::ptrdiff_t done = 0; done < out.runs[r].n; done += V, run.at += V, run.ow += M * V) {
      const std::ptrdiff_t left = out.runs[r].n - done, n = left < V ? left : V;
      Vec<T> y[M][M];
      const Vec<T> probe = finish<T, M>(out.m + run.at, out.stride, bias, out.relu, y);
      out.bad[r] |= (~zero_lanes<T>(probe) & ((std::uint64_t(1) << n) - 1)) << done;
      const std::ptrdiff_t most = out.OW - run.ow;
      store_tiles<T, M>(out, run, n * M < most ? n * M : most, y);
    }
    any |= out.bad[r];
  }
  return any != 0;
}

template <class T, int M>
static bool output_interleaved(const WinogradOutput<T>& out) {
  constexpr int V = Simd<T>::width;
  std::uint64_t any = 0;
  for (int r = 0; r < out.runCount; ++r) {
    const WinogradRun& run = out.runs[r];
    out.bad[r] = 0;
    for (std::ptrdiff_t o = 0; o < out.count; o += V) {
      const int n = out.count - o < V ? int(out.count - o) : V;
      Vec<T> y[M][M];
      const Vec<T> bias = out.bias == nullptr ? Vec<T>{} : load_some(out.bias + o, n);
      const Vec<T> probe = finish<T, M>(out.m + run.at * out.pitch + o, out.stride, bias, out.relu, y);
      out.bad[r] |= (~zero_lanes<T>(probe) & ((std::uint64_t(1) << n) - 1)) << o;
#pragma GCC unroll 16
      for (int i = 0; i < M * M; ++i) {
        const std::ptrdiff_t oh = run.oh + i / M, ow = run.ow + i % M;
        if (oh >= out.OH || ow >= out.OW) continue;
        store_most(out.out + run.out + (oh * out.OW + ow) * out.outPitch + o, y[i / M][i % M], n);
      }
    }
    any |= out.bad[r];
  }
  return any != 0;
}

template <class T, int M>
static bool output_of(const WinogradOutput<T>& out) {
  return out.interleaved ? output_interleaved<T, M>(out) : output_planar<T, M>(out);
}

}  // namespace uhop::UHOP_ISA

namespace uhop {

#define UHOP_WINOGRAD(dtype, T, isa, M, MR, NR, KC)                                                    \
  void dtype##_winograd##M##_filters__##isa(const WinogradFilters<T>& f) { isa::filters_of<T, M>(f); } \
  void dtype##_winograd##M##_input__##isa(const WinogradInput<T>& in) { isa::input_of<T, M>(in); }     \
  bool dtype##_winograd##M##_output__##isa(const WinogradOutput<T>& out) { return isa::output_of<T, M>(out); }
#include "variants.inc"

}  // namespace uhop
