#pragma once
#include "gemm.h"
#include "operands.h"

namespace uhop {

/** 2-D convolution, padding resolved; extents as in the TypeScript contract. */
struct ConvCall {
  std::size_t batch, C, H, W, O, KH, KW, OH, OW;
  std::size_t strideH, strideW, dilationH, dilationW;
  std::size_t padTop, padLeft;
  std::size_t groups;
  bool interleaved;  // nhwc
  bool bias;
  bool relu;

  std::size_t needX() const { return times(times(batch, C), times(H, W)); }
  std::size_t needW() const { return times(times(O, C / groups), times(KH, KW)); }
  std::size_t needOut() const { return times(times(batch, O), times(OH, OW)); }
  /** What `depthwise2d` computes: one input channel per group, and in nhwc one output channel as well. */
  bool depthwise() const { return C > 0 && groups == C && (!interleaved || O == C) && KH <= 1024 && KW <= 1024; }
  /** What `winograd2d` computes: 3×3 taps side by side, every pixel. */
  bool winograd() const {
    return C > 0 && KH == 3 && KW == 3 && strideH == 1 && strideW == 1 && dilationH == 1 && dilationW == 1;
  }
};

/** Implicit GEMM: panels are packed straight from the image. False when cancelled. Throws std::bad_alloc. */
template <class T>
bool conv2d(const GemmVariant<T>& v, const ConvCall& call, const Operands<T>& data, const Crew& crew);

/** Elements of the weights of `conv2d` as `prepack` writes them; 0 where they are read as they lie. */
template <class T>
std::size_t prepacked_elements(const GemmVariant<T>& v, const ConvCall& call);

/** False when cancelled. */
template <class T>
bool prepack(const GemmVariant<T>& v, const ConvCall& call, const T* w, const Crew& crew, T* to);

/** Direct loops, one input channel per group. False when cancelled. Throws std::bad_alloc. */
template <class T>
bool depthwise2d(DepthwiseKernel<T> kernel, const ConvCall& call, const Operands<T>& data, const Crew& crew);

/** The same for 16-bit elements, on f32 copies of the operands: each element is read about as often as it is copied. */
template <Half T>
bool depthwise2d(const HalfDepthwise<T>& v, const ConvCall& call, const Operands<T>& data, const Crew& crew);

}  // namespace uhop
