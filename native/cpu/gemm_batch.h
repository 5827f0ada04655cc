#pragma once
#include <algorithm>

#include "gemm.h"
#include "operands.h"
#include "plan.h"
#include "scratch.h"

namespace uhop {

/**
 * Runs `count` GEMMs of one size. `with(i, run)` builds problem i and passes it to `run`. Many or small problems go
 * side by side, one thread each; few large ones go one after the other with all threads inside. The bits are the same.
 * False when cancelled. Throws std::bad_alloc.
 */
template <class T, class With>
bool gemm_batch(const GemmVariant<T>& v, std::size_t count, std::size_t M, std::size_t N, std::size_t K,
                const Crew& crew, With&& with) {
  // Below this many multiply-adds another thread costs more than it brings.
  constexpr double worthOfThread = 1 << 20;
  const auto elements = [&](unsigned threads) {
    std::size_t need = 0;
    with(0, [&](const GemmProblem<T>& p) { need = gemm_scratch(v, p, threads); });
    return need;
  };
  const double macs = double(M) * double(N) * double(K);
  const Crew inside = crew.part_for(macs, worthOfThread);

  if (count == 1 || (inside.threads > 1 && count < 4 * crew.threads)) {
    const Scratch scratch(times(elements(inside.threads), sizeof(Sum<T>)));
    for (std::size_t i = 0; i < count; ++i) {
      bool completed = false;
      with(i, [&](const GemmProblem<T>& p) { completed = gemm(v, p, inside, scratch.as<Sum<T>>()); });
      if (!completed) return false;
    }
    return true;
  }
  const Crew across = crew.part_for(macs * double(count), worthOfThread);
  const std::size_t each = round_up(elements(1), kMostLanes);
  const Scratch scratch(times(times(each, sizeof(Sum<T>)), across.threads));
  return across.each(count, [&](std::size_t i, unsigned slot) {
    with(i, [&](const GemmProblem<T>& p) { gemm(v, p, Crew{1, crew.cancel}, scratch.as<Sum<T>>() + slot * each); });
  });
}

}  // namespace uhop
