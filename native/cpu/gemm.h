#pragma once
#include "panels.h"
#include "pool.h"
#include "variants.h"

namespace uhop {

/** C = act(A·B + bias), C row-major with rows `ldc` apart, fully overwritten, never read. K = 0 sums to zero. */
template <class T>
struct GemmProblem {
  std::size_t M;
  std::size_t N;
  std::size_t K;
  const PanelSource<T>* a;
  const PanelSource<T>* b;
  T* c;
  std::size_t ldc;
  /** bias[i·biasI + j·biasJ] is added to C[i][j]; strides 0 or 1. */
  const T* bias = nullptr;
  std::size_t biasI = 0;
  std::size_t biasJ = 0;
  bool relu = false;
};

/** Elements of the buffer of Sum<T> that `gemm` needs with so many threads: packed panels and what else it keeps. */
template <class T>
std::size_t gemm_scratch(const GemmVariant<T>& v, const GemmProblem<T>& p, unsigned threads);

/** False when the crew's flag cancelled it. Bits depend on the variant alone, not on threads, blocking or caches. */
template <class T>
bool gemm(const GemmVariant<T>& v, const GemmProblem<T>& p, const Crew& crew, T* scratch);

/** The same for 16-bit elements: summed in f32 over the whole of K, bias and activation included, and rounded once. */
template <Half T>
std::size_t gemm_scratch(const GemmVariant<T>& v, const GemmProblem<T>& p, unsigned threads);
template <Half T>
bool gemm(const GemmVariant<T>& v, const GemmProblem<T>& p, const Crew& crew, float* scratch);

}  // namespace uhop
