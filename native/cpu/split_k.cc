#include "split_k.h"

#include <algorithm>

#include "plan.h"

namespace uhop {

namespace {

/** Blocks of k in one round, of which the sums are kept. */
std::size_t blocks_at_once(std::size_t K, std::size_t KC, unsigned threads) {
  return std::min<std::size_t>(parts(K, KC), 4 * threads);
}

/** Another source from k = `from` on. */
template <class T>
class FromK final : public PanelSource<T> {
 public:
  FromK(const PanelSource<T>& source, std::size_t from, std::size_t lanes = 0)
      : source_(source), from_(from), lanes_(lanes) {}
  void pack(std::size_t first, std::size_t count, std::size_t k0, std::size_t kc, std::size_t width,
            T* dst) const override {
    source_.pack(first, count, from_ + k0, kc, width, dst);
  }
  Strided<T> in_place() const override {
    Strided<T> place = source_.in_place();
    if (place.data != nullptr) place.data += from_ * place.strideK;
    return place;
  }
  const T* prepacked() const override {
    const T* const panels = source_.prepacked();
    return panels == nullptr ? nullptr : panels + from_ * lanes_;
  }

 private:
  const PanelSource<T>& source_;
  std::size_t from_;
  std::size_t lanes_;
};

/** run(problem) for the block of k that begins at `from`: its sums alone, into `sums`. */
template <class T, class Run>
void with_block(const GemmVariant<T>& v, const GemmProblem<T>& p, std::size_t from, T* sums, Run&& run) {
  const Cut cols = columns_of(v, p.N);
  const FromK<T> a(*p.a, from), b(*p.b, from, cols.lanes(0, cols.count()));
  run(GemmProblem<T>{.M = p.M, .N = p.N, .K = std::min(v.KC, p.K - from), .a = &a, .b = &b, .c = sums, .ldc = p.N});
}

/** What one thread needs for a block; the first is the deepest. */
template <class T>
std::size_t scratch_of_one(const GemmVariant<T>& v, const GemmProblem<T>& p) {
  std::size_t elements = 0;
  with_block<T>(v, p, 0, nullptr, [&](const GemmProblem<T>& one) { elements = gemm_scratch(v, one, 1); });
  return round_up(elements, kMostLanes);
}

/** C[i][j] = act(C[i][j] + sums of `blocks` blocks in their order + bias), C as it is only when `more`. */
template <class T>
void add_blocks(const GemmProblem<T>& p, const T* sums, std::size_t blocks, bool more, bool finish) {
  for (std::size_t i = 0; i < p.M; ++i) {
    T* const c = p.c + i * p.ldc;
    for (std::size_t block = 0; block < blocks; ++block) {
      const T* const add = sums + (block * p.M + i) * p.N;
      for (std::size_t j = 0; j < p.N; ++j) c[j] = more || block > 0 ? c[j] + add[j] : add[j];
    }
    if (!finish) continue;
    for (std::size_t j = 0; j < p.N; ++j) {
      T x = c[j];
      if (p.bias != nullptr) x += p.bias[i * p.biasI + j * p.biasJ];
      c[j] = p.relu && x <= 0 ? T(0) : x;
    }
  }
}

}  // namespace

template <class T>
std::size_t split_scratch(const GemmVariant<T>& v, const GemmProblem<T>& p, unsigned threads) {
  return blocks_at_once(p.K, v.KC, threads) * p.M * p.N + threads * scratch_of_one(v, p);
}

template <class T>
bool split_gemm(const GemmVariant<T>& v, const GemmProblem<T>& p, const Crew& crew, T* scratch) {
  const std::size_t most = blocks_at_once(p.K, v.KC, crew.threads);
  const std::size_t own = scratch_of_one(v, p);
  T* const sums = scratch + crew.threads * own;
  for (std::size_t k = 0; k < p.K; k += most * v.KC) {
    const std::size_t blocks = std::min(most, parts(p.K - k, v.KC));
    const bool summed = crew.each(blocks, [&](std::size_t block, unsigned slot) {
      with_block<T>(v, p, k + block * v.KC, sums + block * p.M * p.N, [&](const GemmProblem<T>& one) {
        gemm(v, one, Crew{1, crew.cancel}, scratch + slot * own);
      });
    });
    if (!summed) return false;
    add_blocks(p, sums, blocks, k > 0, k + most * v.KC >= p.K);
  }
  return true;
}

template bool split_gemm(const GemmVariant<float>&, const GemmProblem<float>&, const Crew&, float*);
template bool split_gemm(const GemmVariant<double>&, const GemmProblem<double>&, const Crew&, double*);
template std::size_t split_scratch(const GemmVariant<float>&, const GemmProblem<float>&, unsigned);
template std::size_t split_scratch(const GemmVariant<double>&, const GemmProblem<double>&, unsigned);

}  // namespace uhop
