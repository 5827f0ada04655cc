#pragma once
#include "lanes.h"

// The lines of Winograd's minimal filtering F(m×m, 3×3) of A. Lavin and S. Gray, "Fast Algorithms for Convolutional
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

/**
 * Where the lanes of a vector go that are elements `first` to `end` of panels: into one panel, as many as it
 * has room for, or into two of half a vector. The first elements of a panel may spill into its next row, which is
 * written later, unless it is the last row.
 */
template <class T>
class Across {
 public:
  Across(std::ptrdiff_t width, std::ptrdiff_t panel, std::ptrdiff_t first, std::ptrdiff_t end)
      : panel_(panel), low_(first / width * panel + first % width) {
    const std::ptrdiff_t room = width - first % width;
    halves_ = width == V / 2 && first + V <= end;
    lanes_ = halves_ || room > V ? V : room;
    exact_ = first % width != 0;
  }

  std::ptrdiff_t lanes() const { return lanes_; }

  /** `base` is the row of the first panel. */
  void store(T* base, Vec<T> v, bool last) const {
    if (halves_) {
      const auto low = Half::template part<0>(v), high = Half::template part<V / 2>(v);
      __builtin_memcpy(base + low_, &low, sizeof(low));
      __builtin_memcpy(base + low_ + panel_, &high, sizeof(high));
    } else if (last || exact_) {
      store_most(base + low_, v, lanes_);
    } else {
      UHOP_ISA::store(base + low_, v);
    }
  }

  /** The same for each position, `stride` apart. */
  template <int P>
  void store(T* base, std::ptrdiff_t stride, const Vec<T> (&v)[P][P], bool last) const {
#pragma GCC unroll 64
    for (int i = 0; i < P * P; ++i, base += stride) store(base, v[i / P][i % P], last);
  }

 private:
  static constexpr int V = Simd<T>::width;
  using Half = typename CountTo<V / 2>::type;

  std::ptrdiff_t panel_, low_, lanes_;
  bool halves_, exact_;
};

}  // namespace uhop::UHOP_ISA
