#include "matmul.h"

#include "gemm_batch.h"
#include "prepack.h"

namespace uhop {

namespace {

std::size_t extent_of(const std::vector<MatmulCall::Axis>& batch, std::size_t MatmulCall::Axis::*stride,
                      std::size_t one) {
  std::size_t last = 0;
  for (const auto& axis : batch) {
    if (axis.extent == 0) return 0;
    last = plus(last, times(axis.extent - 1, axis.*stride));
  }
  return one == 0 ? 0 : plus(last, one);
}

/** One B for all items and the A's without gaps: the items are rows of one taller product. */
bool is_one_product(const MatmulCall& call) {
  std::size_t dense = call.M * call.K;
  for (auto axis = call.batch.rbegin(); axis != call.batch.rend(); ++axis) {
    if (axis->strideB != 0 || (axis->extent > 1 && axis->strideA != dense)) return false;
    dense *= axis->extent;
  }
  return !call.transposeA;
}

/** Where item `index` of the batch begins. */
std::size_t offset(const MatmulCall& call, std::size_t index, std::size_t MatmulCall::Axis::*stride) {
  std::size_t sum = 0;
  for (auto axis = call.batch.rbegin(); axis != call.batch.rend(); ++axis) {
    sum += index % axis->extent * ((*axis).*stride);
    index /= axis->extent;
  }
  return sum;
}

template <class T>
Strided<T> matrix_b(const MatmulCall& call, const T* b) {
  return {b, call.transposeB ? call.K : 1, call.transposeB ? 1 : call.N};
}

}  // namespace

bool MatmulCall::one_b() const {
  return std::all_of(batch.begin(), batch.end(), [](const Axis& axis) { return axis.strideB == 0; });
}

std::size_t MatmulCall::items() const {
  std::size_t product = 1;
  for (const auto& axis : batch) product = times(product, axis.extent);
  return product;
}

std::size_t MatmulCall::needA() const { return extent_of(batch, &Axis::strideA, times(M, K)); }

std::size_t MatmulCall::needB() const { return extent_of(batch, &Axis::strideB, times(K, N)); }

template <class T>
bool matmul(const GemmVariant<T>& v, const MatmulCall& call, const Operands<T>& data, const Crew& crew) {
  if (call.needOut() == 0) return true;
  const bool merged = is_one_product(call);
  const std::size_t items = merged ? 1 : call.items();
  const std::size_t M = merged ? call.M * call.items() : call.M;

  return gemm_batch(v, items, M, call.N, call.K, crew, [&](std::size_t i, auto&& run) {
    const T* a = data.x + offset(call, i, &MatmulCall::Axis::strideA);
    const T* b = data.w + offset(call, i, &MatmulCall::Axis::strideB);
    const Strided<T> left{a, call.transposeA ? 1 : call.K, call.transposeA ? call.M : 1};
    const MatrixSource<T> rows(left, v.interleave), columns(matrix_b(call, b), v.interleave, data.prepacked);
    run(GemmProblem<T>{.M = M,
                       .N = call.N,
                       .K = call.K,
                       .a = &rows,
                       .b = &columns,
                       .c = data.out + i * call.M * call.N,
                       .ldc = call.N,
                       .bias = data.bias,
                       .biasJ = std::size_t(call.bias == Bias::row),
                       .relu = call.relu});
  });
}

template <class T>
std::size_t prepacked_elements(const GemmVariant<T>& v, const MatmulCall& call) {
  return call.one_b() ? prepacked_elements(v, call.N, call.K) : 0;
}

template <class T>
bool prepack(const GemmVariant<T>& v, const MatmulCall& call, const T* w, const Crew& crew, T* to) {
  return prepack(v, MatrixSource<T>(matrix_b(call, w), v.interleave), call.N, call.K, crew, to);
}

template std::size_t prepacked_elements(const GemmVariant<float>&, const MatmulCall&);
template std::size_t prepacked_elements(const GemmVariant<double>&, const MatmulCall&);
template bool prepack(const GemmVariant<float>&, const MatmulCall&, const float*, const Crew&, float*);
template bool prepack(const GemmVariant<double>&, const MatmulCall&, const double*, const Crew&, double*);
template bool matmul(const GemmVariant<float>&, const MatmulCall&, const Operands<float>&, const Crew&);
template bool matmul(const GemmVariant<double>&, const MatmulCall&, const Operands<double>&, const Crew&);
template bool matmul(const GemmVariant<F16Bits>&, const MatmulCall&, const Operands<F16Bits>&, const Crew&);
template bool matmul(const GemmVariant<Bf16Bits>&, const MatmulCall&, const Operands<Bf16Bits>&, const Crew&);

}  // namespace uhop
