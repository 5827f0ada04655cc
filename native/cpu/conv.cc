#include "conv.h"

#include "gemm_batch.h"
#include "images.h"
#include "prepack.h"

namespace uhop {

namespace {

/** The image is the matrix already. */
bool is_pointwise(const ConvCall& call) {
  return call.KH == 1 && call.KW == 1 && call.strideH == 1 && call.strideW == 1 && call.padTop == 0 &&
         call.padLeft == 0 && call.OH == call.H && call.OW == call.W;
}

// out [O/g × pixels] = w [O/g × taps] · image [taps × pixels], per image and group.
template <class T>
bool planar(const GemmVariant<T>& v, const ConvCall& call, const Operands<T>& data, const Crew& crew) {
  const std::size_t O = call.O / call.groups, C = call.C / call.groups;
  const std::size_t taps = C * call.KH * call.KW, pixels = call.OH * call.OW;
  return gemm_batch(v, call.batch * call.groups, O, pixels, taps, crew, [&](std::size_t i, auto&& run) {
    const std::size_t group = i % call.groups;
    const T* x = data.x + i * C * call.H * call.W;
    const MatrixSource<T> weights({data.w + group * O * taps, taps, 1}, v.interleave);
    const MatrixSource<T> matrix({x, 1, pixels}, v.interleave);
    const PlanarImage<T> image(x, call, v.image);
    const PanelSource<T>* columns = &image;
    if (is_pointwise(call)) columns = &matrix;
    run(GemmProblem<T>{.M = O,
                       .N = pixels,
                       .K = taps,
                       .a = &weights,
                       .b = columns,
                       .c = data.out + i * O * pixels,
                       .ldc = pixels,
                       .bias = data.bias == nullptr ? nullptr : data.bias + group * O,
                       .biasI = 1,
                       .relu = call.relu});
  });
}

// out [pixels × O/g] = image [pixels × taps] · w [taps × O/g], per group, pixels of the whole batch.
template <class T>
bool interleaved(const GemmVariant<T>& v, const ConvCall& call, const Operands<T>& data, const Crew& crew) {
  const std::size_t O = call.O / call.groups, C = call.C / call.groups;
  const std::size_t taps = C * call.KH * call.KW, pixels = call.batch * call.OH * call.OW;
  return gemm_batch(v, call.groups, pixels, O, taps, crew, [&](std::size_t group, auto&& run) {
    const T* x = data.x + group * C;
    const MatrixSource<T> weights({data.w + group * O, 1, call.O}, v.interleave, data.prepacked);
    const MatrixSource<T> matrix({x, call.C, 1}, v.interleave);
    const InterleavedImage<T> image(x, call, v.interleave);
    const PanelSource<T>* rows = &image;
    if (is_pointwise(call)) rows = &matrix;
    run(GemmProblem<T>{.M = pixels,
                       .N = O,
                       .K = taps,
                       .a = rows,
                       .b = &weights,
                       .c = data.out + group * O,
                       .ldc = call.O,
                       .bias = data.bias == nullptr ? nullptr : data.bias + group * O,
                       .biasJ = 1,
                       .relu = call.relu});
  });
}

}  // namespace

template <class T>
bool conv2d(const GemmVariant<T>& v, const ConvCall& call, const Operands<T>& data, const Crew& crew) {
  if (call.needOut() == 0) return true;
  return call.interleaved ? interleaved(v, call, data, crew) : planar(v, call, data, crew);
}

template <class T>
std::size_t prepacked_elements(const GemmVariant<T>& v, const ConvCall& call) {
  const bool packed = call.interleaved && call.groups == 1;
  return packed ? prepacked_elements(v, call.O, call.C * call.KH * call.KW) : 0;
}

template <class T>
bool prepack(const GemmVariant<T>& v, const ConvCall& call, const T* w, const Crew& crew, T* to) {
  const MatrixSource<T> weights({w, 1, call.O}, v.interleave);
  return prepack(v, weights, call.O, call.C * call.KH * call.KW, crew, to);
}

template std::size_t prepacked_elements(const GemmVariant<float>&, const ConvCall&);
template std::size_t prepacked_elements(const GemmVariant<double>&, const ConvCall&);
template bool prepack(const GemmVariant<float>&, const ConvCall&, const float*, const Crew&, float*);
template bool prepack(const GemmVariant<double>&, const ConvCall&, const double*, const Crew&, double*);
template bool conv2d(const GemmVariant<float>&, const ConvCall&, const Operands<float>&, const Crew&);
template bool conv2d(const GemmVariant<double>&, const ConvCall&, const Operands<double>&, const Crew&);
template bool conv2d(const GemmVariant<F16Bits>&, const ConvCall&, const Operands<F16Bits>&, const Crew&);
template bool conv2d(const GemmVariant<Bf16Bits>&, const ConvCall&, const Operands<Bf16Bits>&, const Crew&);

}  // namespace uhop
