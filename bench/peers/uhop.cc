// Our own matmul called from C++ as OpenBLAS is: kernel against kernel, without Node.
#include "../../native/cpu/matmul.h"
#include "../../native/probe/isa.h"
#include "ops.h"

using namespace peer;

namespace {

/** The one that the addon would choose: the first of the list that runs here. */
const uhop::Variant& best() {
  for (const auto& variant : uhop::variants()) {
    const bool fits = std::string(variant.op) == "gemm" && variant.dtype == uhop::DType::f32;
    if (fits && uhop::runs_here(variant.isa)) return variant;
  }
  throw std::runtime_error("no f32 gemm runs here");
}

Case matmul(std::istream& words) {
  auto op = std::make_shared<Matmul>(words);
  uhop::MatmulCall call{.M = std::size_t(op->M),
                        .N = std::size_t(op->N),
                        .K = std::size_t(op->K),
                        .transposeA = op->transposeA != 0,
                        .transposeB = op->transposeB != 0,
                        .bias = uhop::Bias::none,
                        .relu = false,
                        .batch = {}};
  if (op->items != 1) call.batch = {{std::size_t(op->items), std::size_t(op->strideA), std::size_t(op->strideB)}};
  const auto& kernel = std::get<uhop::GemmVariant<float>>(best().kernel);
  const uhop::Operands<float> data{op->a.get(), op->b.get(), nullptr, op->out.get()};
  const uhop::Crew crew{unsigned(op->threads)};
  return computed(op, op->out.get(), op->length(), best().name,
                  [=, &kernel] { uhop::matmul<float>(kernel, call, data, crew); });
}

}  // namespace

int main() { serve("uhop from C++", {{"matmul", matmul}}); }
