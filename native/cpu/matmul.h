#pragma once
#include <vector>

#include "gemm.h"
#include "operands.h"

namespace uhop {

enum class Bias { none, row, scalar };

/** out[item] = act(op(a[item])·op(b[item]) + bias), items laid out by the batch axes, last axis fastest. */
struct MatmulCall {
  struct Axis {
    std::size_t extent;
    std::size_t strideA;
    std::size_t strideB;
  };
  std::size_t M;
  std::size_t N;
  std::size_t K;
  bool transposeA;
  bool transposeB;
  Bias bias;
  bool relu;
  std::vector<Axis> batch;

  std::size_t items() const;
  /** One B for all items, which is what can be prepacked. */
  bool one_b() const;
  /** Elements each operand must hold at least (a and b) or exactly (out). */
  std::size_t needA() const;
  std::size_t needB() const;
  std::size_t needOut() const { return times(items(), times(M, N)); }
};

/** False when cancelled. Throws std::bad_alloc. */
template <class T>
bool matmul(const GemmVariant<T>& v, const MatmulCall& call, const Operands<T>& data, const Crew& crew);

/** Elements of the call's B as `prepack` writes it; 0 when there is no such form. */
template <class T>
std::size_t prepacked_elements(const GemmVariant<T>& v, const MatmulCall& call);

/** False when cancelled. */
template <class T>
bool prepack(const GemmVariant<T>& v, const MatmulCall& call, const T* w, const Crew& crew, T* to);

}  // namespace uhop
