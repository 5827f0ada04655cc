#pragma once
#include <cstddef>

#include "variants.h"

namespace uhop {

/** Element (i, k) of an operand at data[i·strideI + k·strideK]. */
template <class T>
struct Strided {
  const T* data = nullptr;
  std::size_t strideI = 0;
  std::size_t strideK = 0;
};

/**
 * An operand of a GEMM. Element (i, k) is row i of A at k, or column i of B at k. The kernels want it in panels:
 * `width` rows of A (or columns of B), for each k the elements of the panel side by side.
 */
template <class T>
class PanelSource {
 public:
  virtual ~PanelSource() = default;
  /**
   * Packs elements [first, first + count) × [k0, k0 + kc) into ⌈count / width⌉ panels one after the other:
   * dst[(r / width)·width·kc + k·width + r % width] = element (first + r, k0 + k), zero beyond count.
   */
  virtual void pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
                    T* dst) const = 0;
  /** Where the elements lie, if they lie regularly. */
  virtual Strided<T> in_place() const { return {}; }
  /** The whole operand as `prepack` left it, if it did. */
  virtual const Sum<T>* prepacked() const { return nullptr; }
};

template <class T>
class MatrixSource final : public PanelSource<T> {
 public:
  MatrixSource(const Strided<T>& matrix, InterleaveKernel<T> interleave, const Sum<T>* prepacked = nullptr)
      : matrix_(matrix), interleave_(interleave), prepacked_(prepacked) {}
  void pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
            T* dst) const override;
  Strided<T> in_place() const override { return matrix_; }
  const Sum<T>* prepacked() const override { return prepacked_; }

 private:
  Strided<T> matrix_;
  InterleaveKernel<T> interleave_;
  const Sum<T>* prepacked_;
};

/** Zeroes lanes [count, width) of a panel. */
template <class T>
void clear_lanes(std::size_t count, std::size_t kc, std::size_t width, T* dst);

/** The most lanes a panel may have. */
constexpr std::size_t kMostLanes = 64;

/**
 * How n rows or columns are cut into panels of `width` lanes. What is left over may make the last panel wider, by up to
 * `more` lanes, rather than a panel of its own.
 */
class Cut {
 public:
  Cut(std::size_t n, std::size_t width, std::size_t more = 0)
      : n_(n), width_(width), more_(more), count_((n + width - 1) / width) {
    if (count_ > 1 && (n - 1) % width < more) --count_;
  }
  std::size_t count() const { return count_; }
  std::size_t width() const { return width_; }
  std::size_t start(std::size_t panel) const { return panel < count_ ? panel * width_ : n_; }
  std::size_t size(std::size_t panel) const { return start(panel + 1) - start(panel); }
  bool wide(std::size_t panel) const { return size(panel) > width_; }
  /** Lanes of the panel when packed: whole vectors where widening goes by vectors. */
  std::size_t lanes(std::size_t panel) const {
    if (panel + 1 < count_ || more_ == 0) return width_;
    return (size(panel) + more_ - 1) / more_ * more_;
  }
  /** Lanes of panels [from, until) together. */
  std::size_t lanes(std::size_t from, std::size_t until) const {
    return from >= until ? 0 : start(until - 1) - start(from) + lanes(until - 1);
  }
  /** The most lanes that so many panels have together. */
  std::size_t most_lanes(std::size_t panels) const { return panels * width_ + more_; }

 private:
  std::size_t n_;
  std::size_t width_;
  std::size_t more_;
  std::size_t count_;
};

template <class T>
Cut rows_of(const GemmVariant<T>& v, std::size_t M) {
  return {M, v.MR};
}

/** Columns that the last tile may have beyond NR: where a tile has three vectors of them, that one may have four. */
template <class T>
std::size_t more_columns(const GemmVariant<T>& v) {
  return v.NR % 3 == 0 ? v.NR / 3 : 0;
}

template <class T>
Cut columns_of(const GemmVariant<T>& v, std::size_t N) {
  return {N, v.NR, more_columns(v)};
}

/** Rows of the tile that is four vectors wide instead of three. */
template <class T>
std::size_t rows_when_wide(const GemmVariant<T>& v) {
  return v.MR * 3 / 4;
}

/** Panels [from, until). */
struct Range {
  std::size_t from;
  std::size_t until;

  std::size_t size() const { return until - from; }
  /** The i-th of n equal parts. */
  Range part(std::size_t i, std::size_t n) const { return {from + size() * i / n, from + size() * (i + 1) / n}; }
};

/** Packs panels of `cut` over one k block, each `lanes(panel)·kc` elements, one after the other. */
template <class T>
void pack_panels(const PanelSource<T>& source, const Cut& cut, Range panels, std::size_t k0, std::size_t kc, T* to) {
  while (panels.from < panels.until) {
    const std::size_t lanes = cut.lanes(panels.from);
    std::size_t until = panels.from + 1;
    while (lanes == cut.width() && until < panels.until && cut.lanes(until) == lanes) ++until;
    const std::size_t first = cut.start(panels.from), count = cut.start(until) - first;
    source.pack(first, count, k0, kc, lanes, to);
    to += count * kc;
    panels.from = until;
  }
}

}  // namespace uhop
