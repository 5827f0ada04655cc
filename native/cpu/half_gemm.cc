#include <algorithm>

#include "gemm.h"
#include "operands.h"
#include "plan.h"

namespace uhop {

// Products of 16-bit elements on the f32 loops. Panels are packed as they are, which halves what packing moves, and
// then widened where they lie; the f32 result of a strip of rows stays in the scratch until all of K is in it.
// Copies of whole operands in f32 would take as long for large products and twice as long for a row times a matrix.

namespace {

/** Sums that are kept at once. A strip of many rows is worth packing B again for. */
constexpr std::size_t kSums = 8 << 20;
/** Sums that one task narrows. */
constexpr std::size_t kPiece = 64 << 10;

std::size_t strip_rows(std::size_t MR, std::size_t M, std::size_t N) {
  return std::min(M, std::max(kSums / std::max<std::size_t>(N, 1) / MR, std::size_t(1)) * MR);
}

/** Another source from row (or column) `first` on, packed into the second half of `dst` and widened into all of it. */
template <Half T>
class Widened final : public PanelSource<float> {
 public:
  Widened(const PanelSource<T>& source, std::size_t first, WidenKernel<T> widen)
      : source_(source), first_(first), widen_(widen) {}

  void pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
            float* dst) const override {
    const std::size_t elements = (count + width - 1) / width * width * kc;
    T* const packed = reinterpret_cast<T*>(dst) + elements;
    source_.pack(first_ + first, count, k0, kc, width, packed);
    widen_(packed, dst, elements);
  }
  const float* prepacked() const override { return source_.prepacked(); }

 private:
  const PanelSource<T>& source_;
  std::size_t first_;
  WidenKernel<T> widen_;
};

/** `rows` × N sums side by side into rows `ldc` apart. */
template <Half T>
bool narrow_rows(NarrowKernel<T> narrow, const float* sums, std::size_t rows, std::size_t N, T* c, std::size_t ldc,
                 const Crew& crew) {
  const std::size_t step = std::max<std::size_t>(kPiece / N, 1);
  return crew.each((rows + step - 1) / step, [&](std::size_t task, unsigned) {
    const std::size_t first = task * step, count = std::min(step, rows - first);
    if (ldc == N) return narrow(sums + first * N, c + first * N, count * N);
    for (std::size_t i = first; i < first + count; ++i) narrow(sums + i * N, c + i * ldc, N);
  });
}

}  // namespace

template <Half T>
std::size_t gemm_scratch(const GemmVariant<T>& v, const GemmProblem<T>& p, unsigned threads) {
  const std::size_t rows = strip_rows(v.MR, p.M, p.N);
  const Widened<T> a(*p.a, 0, v.widen), b(*p.b, 0, v.widen);
  const auto panels = [&](std::size_t M) {
    return gemm_scratch<float>(v, {.M = M, .N = p.N, .K = p.K, .a = &a, .b = &b, .c = nullptr, .ldc = p.N}, threads);
  };
  // The last strip may be shorter, and a shorter one may need more for its panels.
  const std::size_t most = std::max(panels(rows), panels((p.M - 1) % rows + 1));
  return plus(plus(times(rows, p.N), std::max(rows, p.N)), plus(most, 2 * kMostLanes));
}

template <Half T>
bool gemm(const GemmVariant<T>& v, const GemmProblem<T>& p, const Crew& crew, float* scratch) {
  const std::size_t most = strip_rows(v.MR, p.M, p.N);
  float* const sums = scratch;
  float* const bias = sums + round_up(most * p.N, kMostLanes);
  float* const panels = bias + round_up(std::max(most, p.N), kMostLanes);
  const Widened<T> b(*p.b, 0, v.widen);
  for (std::size_t i0 = 0; i0 < p.M; i0 += most) {
    const std::size_t rows = std::min(most, p.M - i0);
    const Widened<T> a(*p.a, i0, v.widen);
    if (p.bias != nullptr) v.widen(p.bias + i0 * p.biasI, bias, p.biasI != 0 ? rows : p.biasJ != 0 ? p.N : 1);
    const GemmProblem<float> strip{.M = rows,
                                   .N = p.N,
                                   .K = p.K,
                                   .a = &a,
                                   .b = &b,
                                   .c = sums,
                                   .ldc = p.N,
                                   .bias = p.bias == nullptr ? nullptr : bias,
                                   .biasI = p.biasI,
                                   .biasJ = p.biasJ,
                                   .relu = p.relu};
    if (!gemm<float>(v, strip, crew, panels)) return false;
    if (!narrow_rows(v.narrow, sums, rows, p.N, p.c + i0 * p.ldc, p.ldc, crew)) return false;
  }
  return true;
}

template std::size_t gemm_scratch(const GemmVariant<F16Bits>&, const GemmProblem<F16Bits>&, unsigned);
template std::size_t gemm_scratch(const GemmVariant<Bf16Bits>&, const GemmProblem<Bf16Bits>&, unsigned);
template bool gemm(const GemmVariant<F16Bits>&, const GemmProblem<F16Bits>&, const Crew&, float*);
template bool gemm(const GemmVariant<Bf16Bits>&, const GemmProblem<Bf16Bits>&, const Crew&, float*);

}  // namespace uhop
