#pragma once
#include "panels.h"
#include "pool.h"

namespace uhop {

/** Elements that `prepack` writes for a B of N columns. */
template <class T>
std::size_t prepacked_elements(const GemmVariant<T>& v, std::size_t N, std::size_t K);

/**
 * Packs a whole B as `gemm` wants it: k block by k block, the panels of `columns_of(v, N)` in each. False when
 * cancelled.
 */
template <class T>
bool prepack(const GemmVariant<T>& v, const PanelSource<T>& b, std::size_t N, std::size_t K, const Crew& crew, T* to);

}  // namespace uhop
