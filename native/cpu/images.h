#pragma once
#include "conv.h"
#include "panels.h"

namespace uhop {

/**
 * An input image of a convolution as a GEMM operand, packed without an im2col buffer: index = output pixel, k = tap.
 * nchw: k = (c, kh, kw), index over the pixels of one image; `x` is the first channel of the group.
 */
template <class T>
class PlanarImage final : public PanelSource<T> {
 public:
  PlanarImage(const T* x, const ConvCall& call, ImageKernel<T> kernel) : x_(x), call_(call), kernel_(kernel) {}
  void pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
            T* dst) const override;

 private:
  void pack_panel(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
                  T* dst) const;

  const T* x_;
  const ConvCall& call_;
  ImageKernel<T> kernel_;
};

/** nhwc: k = (kh, kw, c) with the group's channels side by side, index over the pixels of the whole batch. */
template <class T>
class InterleavedImage final : public PanelSource<T> {
 public:
  InterleavedImage(const T* x, const ConvCall& call, InterleaveKernel<T> interleave)
      : x_(x), call_(call), interleave_(interleave) {}
  void pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
            T* dst) const override;

 private:
  void pack_panel(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
                  T* dst) const;

  const T* x_;
  const ConvCall& call_;
  InterleaveKernel<T> interleave_;
};

}  // namespace uhop
