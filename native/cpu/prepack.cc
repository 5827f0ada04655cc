#include "prepack.h"

#include <algorithm>

#include "operands.h"

namespace uhop {

template <class T>
std::size_t prepacked_elements(const GemmVariant<T>& v, std::size_t N, std::size_t K) {
  const Cut cols = columns_of(v, N);
  return times(cols.lanes(0, cols.count()), K);
}

template <class T>
bool prepack(const GemmVariant<T>& v, const PanelSource<T>& b, std::size_t N, std::size_t K, const Crew& crew, T* to) {
  const Cut cols = columns_of(v, N);
  const std::size_t lanes = cols.lanes(0, cols.count()), groups = parts(cols.count(), 4);
  return crew.each(groups * parts(K, v.KC), [&](std::size_t task, unsigned) {
    const std::size_t k = task / groups * v.KC, kc = std::min(v.KC, K - k), from = task % groups * 4;
    pack_panels(b, cols, {from, std::min(from + 4, cols.count())}, k, kc, to + lanes * k + cols.start(from) * kc);
  });
}

template std::size_t prepacked_elements(const GemmVariant<float>&, std::size_t, std::size_t);
template std::size_t prepacked_elements(const GemmVariant<double>&, std::size_t, std::size_t);
template bool prepack(const GemmVariant<float>&, const PanelSource<float>&, std::size_t, std::size_t, const Crew&,
                      float*);
template bool prepack(const GemmVariant<double>&, const PanelSource<double>&, std::size_t, std::size_t, const Crew&,
                      double*);

}  // namespace uhop
