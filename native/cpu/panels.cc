#include "panels.h"

#include <algorithm>
#include <cstring>

namespace uhop {

template <class T>
void clear_lanes(std::size_t count, std::size_t kc, std::size_t width, T* dst) {
  if (count == width) return;
  for (std::size_t k = 0; k < kc; ++k) std::fill(dst + k * width + count, dst + (k + 1) * width, T{});
}

template <class T>
void MatrixSource<T>::pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
                           T* dst) const {
  const auto [data, strideI, strideK] = matrix_;
  const T* corner = data + first * strideI + k0 * strideK;
  if (strideI == 1) {
    for (std::size_t k = 0; k < kc; ++k) {
      const T* row = corner + k * strideK;
      for (std::size_t r = 0; r < count; r += width) {
        std::memcpy(dst + r * kc + k * width, row + r, std::min(width, count - r) * sizeof(T));
      }
    }
  }
  for (std::size_t r = 0; r < count; r += width, dst += width * kc) {
    const std::size_t n = std::min(width, count - r);
    if (strideI != 1) {
      if (strideK == 1) {
        const T* rows[kMostLanes];
        for (std::size_t i = 0; i < n; ++i) rows[i] = corner + (r + i) * strideI;
        interleave_(rows, n, kc, width, dst);
      } else {
        for (std::size_t k = 0; k < kc; ++k) {
          for (std::size_t i = 0; i < n; ++i) dst[k * width + i] = corner[(r + i) * strideI + k * strideK];
        }
      }
    }
    clear_lanes(n, kc, width, dst);
  }
}

template void clear_lanes(std::size_t, std::size_t, std::size_t, float*);
template void clear_lanes(std::size_t, std::size_t, std::size_t, double*);
template void clear_lanes(std::size_t, std::size_t, std::size_t, F16Bits*);
template void clear_lanes(std::size_t, std::size_t, std::size_t, Bf16Bits*);
template class MatrixSource<float>;
template class MatrixSource<double>;
template class MatrixSource<F16Bits>;
template class MatrixSource<Bf16Bits>;

}  // namespace uhop
