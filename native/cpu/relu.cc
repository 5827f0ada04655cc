#include "relu.h"

#include <algorithm>

namespace uhop {

namespace {

constexpr std::size_t kPieceBytes = 256 << 10;

}  // namespace

template <class T>
bool relu(ReluKernel<T> kernel, std::size_t length, const Operands<T>& data, const Crew& crew) {
  constexpr std::size_t piece = kPieceBytes / sizeof(T);
  return crew.each((length + piece - 1) / piece, [&](std::size_t i, unsigned) {
    const std::size_t from = i * piece;
    kernel(data.x + from, data.out + from, std::min(piece, length - from));
  });
}

template bool relu(ReluKernel<float>, std::size_t, const Operands<float>&, const Crew&);
template bool relu(ReluKernel<double>, std::size_t, const Operands<double>&, const Crew&);
template bool relu(ReluKernel<F16Bits>, std::size_t, const Operands<F16Bits>&, const Crew&);
template bool relu(ReluKernel<Bf16Bits>, std::size_t, const Operands<Bf16Bits>&, const Crew&);

}  // namespace uhop
