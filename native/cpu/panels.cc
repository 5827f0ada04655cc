#include "panels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../../kernels/cpu/kernels.h"

namespace uhop {

namespace {

constexpr std::size_t kBlock = 32;

// Four rows by four k at a time through registers, where four elements fill one.
template <class T>
inline void interleave4(const T* const* rows, std::size_t kc, std::size_t width, T* dst) {
  std::size_t k = 0;
  if constexpr (sizeof(T) <= 4) {
    using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, float>;
    typedef Bits V __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));
    const auto at = [&](int r, std::size_t from) { return *reinterpret_cast<const V*>(rows[r] + from); };
    const auto put = [&](std::size_t to, V v) { *reinterpret_cast<V*>(dst + to * width) = v; };
    for (; k + 4 <= kc; k += 4) {
      const V a = at(0, k), b = at(1, k), c = at(2, k), d = at(3, k);
      const V ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const V cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      put(k, __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
      put(k + 1, __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
      put(k + 2, __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
      put(k + 3, __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
    }
  }
  for (; k < kc; ++k) {
    for (int r = 0; r < 4; ++r) dst[k * width + r] = rows[r][k];
  }
}

}  // namespace

template <class T>
void interleave(const T* const* rows, std::size_t count, std::size_t kc, std::size_t width, T* dst) {
  static const T zeros[kBlock] = {};
  for (std::size_t k = 0; k < kc; k += kBlock) {
    const std::size_t n = std::min(kBlock, kc - k);
    T* to = dst + k * width;
    std::size_t r = 0;
    for (; r + 4 <= count; r += 4) {
      const T* four[4];
      for (int i = 0; i < 4; ++i) four[i] = rows[r + i] == nullptr ? zeros : rows[r + i] + k;
      interleave4(four, n, width, to + r);
    }
    for (; r < count; ++r) {
      const T* row = rows[r] == nullptr ? zeros : rows[r] + k;
      for (std::size_t i = 0; i < n; ++i) to[i * width + r] = row[i];
    }
  }
}

template <class T>
void clear_lanes(std::size_t count, std::size_t kc, std::size_t width, T* dst) {
  if (count == width) return;
  for (std::size_t k = 0; k < kc; ++k) std::fill(dst + k * width + count, dst + (k + 1) * width, T{});
}

template <class T>
void MatrixSource<T>::pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
                           T* dst) const {
  const T* corner = data_ + first * strideI_ + k0 * strideK_;
  if (strideI_ == 1) {
    for (std::size_t k = 0; k < kc; ++k) {
      const T* row = corner + k * strideK_;
      for (std::size_t r = 0; r < count; r += width) {
        std::memcpy(dst + r * kc + k * width, row + r, std::min(width, count - r) * sizeof(T));
      }
    }
  }
  for (std::size_t r = 0; r < count; r += width, dst += width * kc) {
    const std::size_t n = std::min(width, count - r);
    if (strideI_ != 1) {
      if (strideK_ == 1) {
        const T* rows[kMostLanes];
        for (std::size_t i = 0; i < n; ++i) rows[i] = corner + (r + i) * strideI_;
        interleave(rows, n, kc, width, dst);
      } else {
        for (std::size_t k = 0; k < kc; ++k) {
          for (std::size_t i = 0; i < n; ++i) dst[k * width + i] = corner[(r + i) * strideI_ + k * strideK_];
        }
      }
    }
    clear_lanes(n, kc, width, dst);
  }
}

template void interleave(const float* const*, std::size_t, std::size_t, std::size_t, float*);
template void interleave(const double* const*, std::size_t, std::size_t, std::size_t, double*);
template void interleave(const F16Bits* const*, std::size_t, std::size_t, std::size_t, F16Bits*);
template void interleave(const Bf16Bits* const*, std::size_t, std::size_t, std::size_t, Bf16Bits*);
template void clear_lanes(std::size_t, std::size_t, std::size_t, float*);
template void clear_lanes(std::size_t, std::size_t, std::size_t, double*);
template void clear_lanes(std::size_t, std::size_t, std::size_t, F16Bits*);
template void clear_lanes(std::size_t, std::size_t, std::size_t, Bf16Bits*);
template class MatrixSource<float>;
template class MatrixSource<double>;
template class MatrixSource<F16Bits>;
template class MatrixSource<Bf16Bits>;

}  // namespace uhop
