#pragma once
#include "kernels.h"
#include "simd.h"

namespace uhop::UHOP_ISA {

/** C, bias and activation for `n` of the elements of one vector of sums. */
template <class T>
UHOP_INLINE void write_vector(const GemmTile<T>& t, Vec<T> v, std::size_t i, std::size_t j, int n) {
  const bool whole = n >= Simd<T>::width;
  T* c = t.c + i * t.ldc + j;
  if (t.accumulate) v = (whole ? load(c) : load_some(c, n)) + v;
  if (t.finish) {
    if (t.bias != nullptr) {
      const T* bias = t.bias + i * t.biasI + j * t.biasJ;
      v += t.biasJ == 0 ? splat(*bias) : whole ? load(bias) : load_some(bias, n);
    }
    if (t.relu) v = relu(v);
  }
  if (whole) {
    store(c, v);
  } else {
    store_most(c, v, n);
  }
}

}  // namespace uhop::UHOP_ISA
