#include "conv.h"
#include "elementwise.h"
#include "scratch.h"

namespace uhop {

template <Half T>
bool depthwise2d(const HalfDepthwise<T>& v, const ConvCall& call, const Operands<T>& data, const Crew& crew) {
  const std::size_t x = call.needX(), w = call.needW(), bias = call.bias ? call.O : 0, out = call.needOut();
  const Scratch scratch(times(plus(plus(x, w), plus(bias, out)), sizeof(float)));
  float* const wideX = scratch.as<float>();
  float* const wideW = wideX + x;
  float* const wideBias = wideW + w;
  float* const wideOut = wideBias + bias;
  return elementwise(v.widen, x, data.x, wideX, crew) && elementwise(v.widen, w, data.w, wideW, crew) &&
         elementwise(v.widen, bias, data.bias, wideBias, crew) &&
         depthwise2d(v.kernel, call, Operands<float>{wideX, wideW, call.bias ? wideBias : nullptr, wideOut}, crew) &&
         elementwise(v.narrow, out, wideOut, data.out, crew);
}

template bool depthwise2d(const HalfDepthwise<F16Bits>&, const ConvCall&, const Operands<F16Bits>&, const Crew&);
template bool depthwise2d(const HalfDepthwise<Bf16Bits>&, const ConvCall&, const Operands<Bf16Bits>&, const Crew&);

}  // namespace uhop
