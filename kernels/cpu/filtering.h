#pragma once
#include "lanes.h"

// The lines of Winograd's minimal filtering F(m×m, 3×3), from A. Lavin and S. Gray, "Fast Algorithms for Convolutional
// Neural Networks" (2016): an m×m tile of the output is Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A, summed over the channels between the
// brackets. G is scaled to integers, so that small weights lose no digits; the scale is divided out of the output.

namespace uhop::UHOP_ISA {

template <int M>
struct Filtering;

/** F(2, 3). */
template <>
struct Filtering<2> {
  static constexpr double scale = 0.25;

  struct Filter {
    template <class V>
    UHOP_INLINE void line(const V* g, V* u) {
      const V outer = g[0] + g[2];
      u[0] = g[0] + g[0];
      u[1] = outer + g[1];
      u[2] = outer - g[1];
      u[3] = g[2] + g[2];
    }
  };
  struct Input {
    template <class V>
    UHOP_INLINE void line(const V* d, V* v) {
      v[0] = d[0] - d[2];
      v[1] = d[1] + d[2];
      v[2] = d[2] - d[1];
      v[3] = d[1] - d[3];
    }
  };
  struct Output {
    template <class V>
    UHOP_INLINE void line(const V* m, V* y) {
      y[0] = m[0] + m[1] + m[2];
      y[1] = m[1] - m[2] - m[3];
    }
  };
};

/** F(4, 3) at the points 0, ±1, ±2. */
template <>
struct Filtering<4> {
  static constexpr double scale = 1.0 / 576;

  struct Filter {
    template <class V>
    UHOP_INLINE void line(const V* g, V* u) {
      const V outer = (g[0] + g[2]) * -4, far = g[0] + g[2] * 4;
      u[0] = g[0] * 6;
      u[1] = outer - g[1] * 4;
      u[2] = outer + g[1] * 4;
      u[3] = far + g[1] * 2;
      u[4] = far - g[1] * 2;
      u[5] = g[2] * 24;
    }
  };
  struct Input {
    template <class V>
    UHOP_INLINE void line(const V* d, V* v) {
      const V a = d[4] - d[2] * 4, b = d[3] - d[1] * 4, c = d[4] - d[2], e = (d[3] - d[1]) * 2;
      v[0] = d[0] * 4 - d[2] * 5 + d[4];
      v[1] = a + b;
      v[2] = a - b;
      v[3] = c + e;
      v[4] = c - e;
      v[5] = d[1] * 4 - d[3] * 5 + d[5];
    }
  };
  struct Output {
    template <class V>
    UHOP_INLINE void line(const V* m, V* y) {
      const V near = m[1] + m[2], nearOdd = m[1] - m[2], far = m[3] + m[4], farOdd = m[3] - m[4];
      y[0] = m[0] + near + far;
      y[1] = nearOdd + farOdd * 2;
      y[2] = near + far * 4;
      y[3] = nearOdd + farOdd * 8 + m[5];
    }
  };
};

/** L on every column of a square, then on every row of the outcome. */
template <class L, int IN, int OUT, class V>
UHOP_INLINE void both_ways(const V (&d)[IN][IN], V (&t)[OUT][OUT]) {
  V half[OUT][IN];
#pragma GCC unroll 8
  for (int j = 0; j < IN; ++j) {
    V column[IN], line[OUT];
#pragma GCC unroll 8
    for (int i = 0; i < IN; ++i) column[i] = d[i][j];
    L::line(column, line);
#pragma GCC unroll 8
    for (int i = 0; i < OUT; ++i) half[i][j] = line[i];
  }
#pragma GCC unroll 8
  for (int i = 0; i < OUT; ++i) L::line(half[i], t[i]);
}

/** Where the lanes of a vector go that are elements `first` to first + V of panels, those below `end`. */
template <class T>
class Across {
 public:
  Across(std::ptrdiff_t width, std::ptrdiff_t panel, std::ptrdiff_t first, std::ptrdiff_t end)
      : width_(width), panel_(panel), first_(first), end_(end), low_(first / width * panel + first % width) {
    const bool all = first + V <= end;
    whole_ = all && first % width + V <= width;
    halves_ = all && width == V / 2 && first % width == 0;
  }

  /** Rows one after the other of every panel, `rows` of them; `base` is where the first of the first panel begins. */
  void store(T* base, const Vec<T>* v, std::ptrdiff_t rows) const {
    T* to = base + low_;
    if (whole_) {
      for (std::ptrdiff_t i = 0; i < rows; ++i, to += width_) UHOP_ISA::store(to, v[i]);
    } else if (halves_) {
      for (std::ptrdiff_t i = 0; i < rows; ++i, to += V / 2) {
        const auto low = Half::template part<0>(v[i]), high = Half::template part<V / 2>(v[i]);
        __builtin_memcpy(to, &low, sizeof(low));
        __builtin_memcpy(to + panel_, &high, sizeof(high));
      }
    } else {
      for (std::ptrdiff_t i = 0; i < rows; ++i, base += width_) {
        std::ptrdiff_t at = first_;
        for (int lane = 0; lane < V && at < end_; ++lane, ++at) base[at / width_ * panel_ + at % width_] = v[i][lane];
      }
    }
  }

  /** One row for each of the positions, `stride` apart. */
  template <int P>
  inline __attribute__((always_inline)) void store(T* base, std::ptrdiff_t stride, const Vec<T> (&v)[P][P]) const {
    if (whole_) {
      T* to = base + low_;
#pragma GCC unroll 64
      for (int i = 0; i < P * P; ++i, to += stride) UHOP_ISA::store(to, v[i / P][i % P]);
    } else if (halves_) {
      T* to = base + low_;
#pragma GCC unroll 64
      for (int i = 0; i < P * P; ++i, to += stride) {
        const auto low = Half::template part<0>(v[i / P][i % P]), high = Half::template part<V / 2>(v[i / P][i % P]);
        __builtin_memcpy(to, &low, sizeof(low));
        __builtin_memcpy(to + panel_, &high, sizeof(high));
      }
    } else {
      for (int i = 0; i < P * P; ++i) store(base + i * stride, &v[i / P][i % P], 1);
    }
  }

 private:
  static constexpr int V = Simd<T>::width;
  using Half = typename CountTo<V / 2>::type;

  std::ptrdiff_t width_, panel_, first_, end_, low_;
  bool whole_, halves_;
};

}  // namespace uhop::UHOP_ISA
