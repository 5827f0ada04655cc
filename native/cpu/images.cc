#include "images.h"

#include <algorithm>

namespace uhop {

using Offset = std::ptrdiff_t;

template <class T>
void PlanarImage<T>::pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
                          T* dst) const {
  for (std::size_t r = 0; r < count; r += width, dst += width * kc) {
    pack_panel(first + r, std::min(width, count - r), k0, kc, width, dst);
  }
}

template <class T>
void PlanarImage<T>::pack_panel(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc,
                                std::size_t width, T* dst) const {
  ImageRun runs[kMostLanes];
  int runCount = 0;
  std::size_t oh = first / call_.OW, ow = first % call_.OW;
  for (std::size_t done = 0; done < count; ++oh, ow = 0) {
    const std::size_t n = std::min(count - done, call_.OW - ow);
    runs[runCount++] = {Offset(oh * call_.strideH) - Offset(call_.padTop),
                        Offset(ow * call_.strideW) - Offset(call_.padLeft), Offset(n)};
    done += n;
  }
  const std::size_t taps = call_.KH * call_.KW;
  kernel_({.x = x_ + k0 / taps * call_.H * call_.W,
           .H = Offset(call_.H),
           .W = Offset(call_.W),
           .KH = Offset(call_.KH),
           .KW = Offset(call_.KW),
           .stride = Offset(call_.strideW),
           .dilationH = Offset(call_.dilationH),
           .dilationW = Offset(call_.dilationW),
           .runs = runs,
           .runCount = runCount,
           .kh = Offset(k0 % taps / call_.KW),
           .kw = Offset(k0 % call_.KW),
           .kc = kc,
           .width = Offset(width),
           .to = dst});
}

template <class T>
void InterleavedImage<T>::pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc,
                               std::size_t width, T* dst) const {
  for (std::size_t r = 0; r < count; r += width, dst += width * kc) {
    pack_panel(first + r, std::min(width, count - r), k0, kc, width, dst);
  }
}

template <class T>
void InterleavedImage<T>::pack_panel(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc,
                                     std::size_t width, T* dst) const {
  const std::size_t channels = call_.C / call_.groups;
  for (std::size_t k = 0; k < kc;) {
    const std::size_t tap = (k0 + k) / channels, c = (k0 + k) % channels;
    const std::size_t n = std::min(kc - k, channels - c);
    const T* rows[kMostLanes];
    for (std::size_t i = 0; i < count; ++i) rows[i] = pixel(first + i, tap / call_.KW, tap % call_.KW, c);
    interleave(rows, count, n, width, dst + k * width);
    k += n;
  }
  clear_lanes(count, kc, width, dst);
}

/** Null in the padding. */
template <class T>
const T* InterleavedImage<T>::pixel(std::size_t index, std::size_t kh, std::size_t kw, std::size_t c) const {
  const std::size_t ow = index % call_.OW, oh = index / call_.OW % call_.OH, item = index / call_.OW / call_.OH;
  const Offset ih = Offset(oh * call_.strideH + kh * call_.dilationH) - Offset(call_.padTop);
  const Offset iw = Offset(ow * call_.strideW + kw * call_.dilationW) - Offset(call_.padLeft);
  if (ih < 0 || ih >= Offset(call_.H) || iw < 0 || iw >= Offset(call_.W)) return nullptr;
  return x_ + ((item * call_.H + std::size_t(ih)) * call_.W + std::size_t(iw)) * call_.C + c;
}

template class PlanarImage<float>;
template class PlanarImage<double>;
template class PlanarImage<F16Bits>;
template class PlanarImage<Bf16Bits>;
template class InterleavedImage<float>;
template class InterleavedImage<double>;
template class InterleavedImage<F16Bits>;
template class InterleavedImage<Bf16Bits>;

}  // namespace uhop
