#pragma once
#include <cstddef>

namespace uhop {

/**
 * An operand of a GEMM as the kernels want it: panels of `width` rows of A (or columns of B), for each k the elements
 * of the panel side by side. Element (i, k) is row i of A at k, or column i of B at k.
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
};

/** Element (i, k) at data[i·strideI + k·strideK]. */
template <class T>
class MatrixSource final : public PanelSource<T> {
 public:
  MatrixSource(const T* data, std::size_t strideI, std::size_t strideK)
      : data_(data), strideI_(strideI), strideK_(strideK) {}
  void pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
            T* dst) const override;

 private:
  const T* data_;
  std::size_t strideI_;
  std::size_t strideK_;
};

/**
 * dst[k·width + r] = rows[r][k] for r < count and k < kc; a null row counts as zeros. Lanes r ≥ count are left alone.
 */
template <class T>
void interleave(const T* const* rows, std::size_t count, std::size_t kc, std::size_t width, T* dst);

/** Zeroes lanes [count, width) of a panel. */
template <class T>
void clear_lanes(std::size_t count, std::size_t kc, std::size_t width, T* dst);

/** The most lanes a panel may have. */
constexpr std::size_t kMostLanes = 64;

}  // namespace uhop
