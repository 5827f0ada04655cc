#include <algorithm>

#include "conv.h"

namespace uhop {

namespace {

using Offset = std::ptrdiff_t;

/** All rows of one output plane, or of one image; where they lie is the caller's to say. */
template <class T>
DepthwiseRows<T> rows_of(const ConvCall& call) {
  DepthwiseRows<T> rows{};
  rows.H = Offset(call.H);
  rows.W = Offset(call.W);
  rows.OW = Offset(call.OW);
  rows.KH = Offset(call.KH);
  rows.KW = Offset(call.KW);
  rows.strideH = Offset(call.strideH);
  rows.strideW = Offset(call.strideW);
  rows.dilationH = Offset(call.dilationH);
  rows.dilationW = Offset(call.dilationW);
  rows.padTop = Offset(call.padTop);
  rows.padLeft = Offset(call.padLeft);
  rows.relu = call.relu;
  rows.interleaved = call.interleaved;
  rows.lanes = call.interleaved ? Offset(call.C) : 1;
  rows.count = Offset(call.OH);
  return rows;
}

/** Multiply-adds below which a thread or a task is not worth its overhead. */
constexpr double kWorthOfThread = 1 << 17;
constexpr double kWorthOfTask = 1 << 15;

}  // namespace

// A task is some rows of one output plane (nchw), or of one image (nhwc: one output channel per input channel).
template <class T>
bool depthwise2d(DepthwiseKernel<T> kernel, const ConvCall& call, const Operands<T>& data, const Crew& crew) {
  if (call.needOut() == 0) return true;
  const double macs = double(call.needOut()) * double(call.KH * call.KW);
  const Crew team = crew.part_for(macs, kWorthOfThread);
  const std::size_t items = call.batch * (call.interleaved ? 1 : call.O);
  const double rowMacs = macs / double(items) / double(call.OH);
  // A multiple of the four rows that the kernel computes at once.
  const std::size_t step = std::size_t(std::clamp(kWorthOfTask / rowMacs / 4, 1.0, double(call.OH))) * 4;
  const std::size_t steps = (call.OH + step - 1) / step;
  const std::size_t multiplier = call.O / call.C;
  return team.each(items * steps, [&](std::size_t task, unsigned) {
    const std::size_t item = task / steps, first = task % steps * step;
    DepthwiseRows<T> rows = rows_of<T>(call);
    const std::size_t o = call.interleaved ? 0 : item % call.O;
    const std::size_t image = call.interleaved ? item * call.C : item / call.O * call.C + o / multiplier;
    rows.x = data.x + image * call.H * call.W;
    rows.w = data.w + o * call.KH * call.KW;
    rows.bias = data.bias == nullptr ? nullptr : data.bias + o;
    rows.out = data.out + item * call.OH * call.OW * (call.interleaved ? call.C : 1);
    rows.first = Offset(first);
    rows.count = Offset(std::min(step, call.OH - first));
    kernel(rows);
  });
}

template bool depthwise2d(DepthwiseKernel<float>, const ConvCall&, const Operands<float>&, const Crew&);
template bool depthwise2d(DepthwiseKernel<double>, const ConvCall&, const Operands<double>&, const Crew&);

}  // namespace uhop
