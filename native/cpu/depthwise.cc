#include <algorithm>
#include <vector>

#include "conv.h"

namespace uhop {

namespace {

using Offset = std::ptrdiff_t;

/** Pointers to the input rows under output row `oh`, null in the padding. */
template <class T>
void rows_under(const ConvCall& call, std::size_t oh, const T* image, std::size_t pitch, const T** rows) {
  for (std::size_t kh = 0; kh < call.KH; ++kh) {
    const Offset ih = Offset(oh * call.strideH + kh * call.dilationH) - Offset(call.padTop);
    rows[kh] = ih < 0 || ih >= Offset(call.H) ? nullptr : image + std::size_t(ih) * pitch;
  }
}

template <class T>
DepthwiseRow<T> row_of(const ConvCall& call) {
  DepthwiseRow<T> row{};
  row.W = Offset(call.W);
  row.OW = Offset(call.OW);
  row.KH = int(call.KH);
  row.KW = int(call.KW);
  row.stride = Offset(call.strideW);
  row.dilation = Offset(call.dilationW);
  row.padLeft = Offset(call.padLeft);
  row.relu = call.relu;
  row.interleaved = call.interleaved;
  return row;
}

// One task per output plane.
template <class T>
bool planar(DepthwiseKernel<T> kernel, const ConvCall& call, const Operands<T>& data, const Crew& crew,
            const T** rows) {
  const std::size_t multiplier = call.O / call.C;
  return crew.each(call.batch * call.O, [&](std::size_t plane, unsigned slot) {
    const std::size_t o = plane % call.O;
    const T* image = data.x + (plane / call.O * call.C + o / multiplier) * call.H * call.W;
    DepthwiseRow<T> row = row_of<T>(call);
    row.rows = rows + slot * call.KH;
    row.w = data.w + o * call.KH * call.KW;
    row.bias = data.bias == nullptr ? nullptr : data.bias + o;
    for (std::size_t oh = 0; oh < call.OH; ++oh) {
      rows_under(call, oh, image, call.W, rows + slot * call.KH);
      row.out = data.out + (plane * call.OH + oh) * call.OW;
      kernel(row);
    }
  });
}

// One task per output row; all channels side by side, which needs one output channel per input channel.
template <class T>
bool interleaved(DepthwiseKernel<T> kernel, const ConvCall& call, const Operands<T>& data, const Crew& crew,
                 const T** rows) {
  return crew.each(call.batch * call.OH, [&](std::size_t i, unsigned slot) {
    DepthwiseRow<T> row = row_of<T>(call);
    row.rows = rows + slot * call.KH;
    row.w = data.w;
    row.bias = data.bias;
    row.lanes = Offset(call.C);
    row.pitch = row.outPitch = row.tapPitch = Offset(call.C);
    rows_under(call, i % call.OH, data.x + i / call.OH * call.H * call.W * call.C, call.W * call.C,
               rows + slot * call.KH);
    row.out = data.out + i * call.OW * call.C;
    kernel(row);
  });
}

}  // namespace

template <class T>
bool depthwise2d(DepthwiseKernel<T> kernel, const ConvCall& call, const Operands<T>& data, const Crew& crew) {
  if (call.needOut() == 0) return true;
  const double macs = double(call.needOut()) * double(call.KH * call.KW);
  const Crew team{unsigned(std::clamp(macs / (1 << 17), 1.0, double(crew.threads))), crew.cancel};
  std::vector<const T*> rows(times(team.threads, call.KH));
  return call.interleaved ? interleaved(kernel, call, data, team, rows.data())
                          : planar(kernel, call, data, team, rows.data());
}

template bool depthwise2d(DepthwiseKernel<float>, const ConvCall&, const Operands<float>&, const Crew&);
template bool depthwise2d(DepthwiseKernel<double>, const ConvCall&, const Operands<double>&, const Crew&);

}  // namespace uhop
