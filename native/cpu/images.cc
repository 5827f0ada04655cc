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
void PlanarImage<T>::pack_panel(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
                                T* dst) const {
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
void InterleavedImage<T>::pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
                               T* dst) const {
  for (std::size_t r = 0; r < count; r += width, dst += width * kc) {
    pack_panel(first + r, std::min(width, count - r), k0, kc, width, dst);
  }
}

namespace {

/** Elements of k that are packed at once. */
constexpr std::size_t kMostRun = 128;

/** An output pixel: its image and the input position under the tap (0, 0). */
template <class T>
struct Pixel {
  const T* image;
  Offset ih;
  Offset iw;
};

}  // namespace

// The taps of one kernel row lie side by side in the image with all their channels, unless dilated or grouped: then
// a run of k is the channels of one tap. Where a run leaves the image at the side, it is put together beside it.
template <class T>
void InterleavedImage<T>::pack_panel(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc,
                                     std::size_t width, T* dst) const {
  Pixel<T> pixels[kMostLanes];
  T edges[kMostLanes][kMostRun];
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t index = first + i, ow = index % call_.OW, oh = index / call_.OW % call_.OH;
    pixels[i] = {x_ + index / call_.OW / call_.OH * call_.H * call_.W * call_.C,
                 Offset(oh * call_.strideH) - Offset(call_.padTop), Offset(ow * call_.strideW) - Offset(call_.padLeft)};
  }
  const std::size_t channels = call_.C / call_.groups;
  const bool joined = call_.groups == 1 && call_.dilationW == 1;
  const std::size_t taps = joined ? call_.KW : 1, whole = taps * channels, perRow = call_.KW / taps;
  const Offset pitch = Offset(call_.C), end = Offset(call_.W) * pitch;
  for (std::size_t k = 0; k < kc;) {
    const std::size_t run = (k0 + k) / whole, within = (k0 + k) % whole;
    const std::size_t n = std::min({kc - k, whole - within, kMostRun});
    const Offset down = Offset(run / perRow * call_.dilationH);
    const Offset along = Offset(run % perRow * call_.dilationW);
    const T* rows[kMostLanes];
    for (std::size_t i = 0; i < count; ++i) {
      const Offset ih = pixels[i].ih + down, iw = pixels[i].iw + along;
      rows[i] = nullptr;
      if (ih < 0 || ih >= Offset(call_.H) || iw + Offset(taps) <= 0 || iw >= Offset(call_.W)) continue;
      const Offset at = iw * pitch + Offset(within);
      const T* const row = pixels[i].image + ih * end;
      const Offset from = std::clamp(-at, Offset(0), Offset(n)), until = std::clamp(end - at, from, Offset(n));
      rows[i] = row + at;
      if (until - from == Offset(n)) continue;
      std::fill(edges[i], edges[i] + n, T{});
      if (from < until) std::copy(row + at + from, row + at + until, edges[i] + from);
      rows[i] = edges[i];
    }
    interleave_(rows, count, n, width, dst + k * width);
    k += n;
  }
  clear_lanes(count, kc, width, dst);
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
