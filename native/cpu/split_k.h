#pragma once
#include "gemm.h"

namespace uhop {

/**
 * `gemm` for a C too small to keep the threads busy: the k blocks are summed side by side into buffers, and the sums
 * are added to C in the order of k, as the one thread of the other way would.
 */
template <class T>
bool split_gemm(const GemmVariant<T>& v, const GemmProblem<T>& p, const Crew& crew, T* scratch);
template <class T>
std::size_t split_scratch(const GemmVariant<T>& v, const GemmProblem<T>& p, unsigned threads);

}  // namespace uhop
