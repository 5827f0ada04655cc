#pragma once
#include "conv.h"

namespace uhop {

/** Elements of the transformed filters of a call. */
template <class T>
std::size_t prepacked_elements(const WinogradVariant<T>& v, const ConvCall& call);

/** Transforms the filters of a call; where they lie depends on `v`, layout, C, O and groups. False when cancelled. */
template <class T>
bool prepack(const WinogradVariant<T>& v, const ConvCall& call, const T* w, const Crew& crew, T* to);

/**
 * F(m×m, 3×3) in blocks of tiles, over filters that were prepacked, or are transformed now. A tile
 * with an output that is not finite is computed again by the direct sum: NaN, infinities and overflow are as there.
 *
 * An element is within γ·16·Σ_c max|d_c|·Σ|g_c| + γ·|bias| of the exact one for m = 2, where d_c are the 4×4 inputs
 * under its tile, g_c the 3×3 taps and γ that of C + 12 operations: a small output beside large inputs of its tile
 * loses digits that the direct sum keeps. Integers come out exact while four times
 * every sum of |products| is below 2^24. False when cancelled. Throws std::bad_alloc.
 */
template <class T>
bool winograd2d(const WinogradVariant<T>& v, const ConvCall& call, const Operands<T>& data, const Crew& crew);

}  // namespace uhop
