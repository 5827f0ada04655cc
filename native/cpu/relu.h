#pragma once
#include "operands.h"
#include "pool.h"
#include "variants.h"

namespace uhop {

/** False when cancelled, with part of `out` written. */
template <class T>
bool relu(ReluKernel<T> kernel, std::size_t length, const Operands<T>& data, const Crew& crew);

}  // namespace uhop
