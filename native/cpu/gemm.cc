#include "gemm.h"

#include <algorithm>

#include "../probe/caches.h"

namespace uhop {

namespace {

constexpr std::size_t kPackedBytes = 8 << 20;

constexpr std::size_t parts(std::size_t n, std::size_t size) { return (n + size - 1) / size; }
constexpr std::size_t round_up(std::size_t n, std::size_t to) { return parts(n, to) * to; }

/** The largest multiple of `unit` whose `bytes` each fit in `budget`, at least one unit, at most what n needs. */
std::size_t fit(std::size_t budget, std::size_t bytes, std::size_t unit, std::size_t n) {
  return std::min(std::max(unit, budget / bytes / unit * unit), round_up(n, unit));
}

/** Rows and columns of C that one task computes: halved until every thread has several tasks. */
template <class T>
Blocking tasks_of(const GemmVariant<T>& v, std::size_t rows, std::size_t cols, unsigned threads) {
  const std::size_t half = caches().l2 / 2 / (v.KC * sizeof(T));
  Blocking task{fit(half * 2 / 3, 1, v.MR, rows), fit(half, 1, v.NR, cols)};
  const auto halve = [](std::size_t n, std::size_t unit) { return round_up(parts(n, 2), unit); };
  while (threads > 1 && parts(rows, task.rows) * parts(cols, task.cols) < 4 * threads) {
    if (task.cols > 2 * v.NR && task.cols >= task.rows) {
      task.cols = halve(task.cols, v.NR);
    } else if (task.rows > v.MR) {
      task.rows = halve(task.rows, v.MR);
    } else if (task.cols > v.NR) {
      task.cols = halve(task.cols, v.NR);
    } else {
      break;
    }
  }
  return task;
}

/** One block of the three outer loops: columns [j0, j0+nj), contracted [k0, k0+kc), rows [i0, i0+ni). */
template <class T>
struct Block {
  std::size_t j0, nj, k0, kc, i0, ni;
  T* packedA;
  T* packedB;
};

template <class T>
bool pack_block(const GemmVariant<T>& v, const GemmProblem<T>& p, const Block<T>& b, bool withB, const Crew& crew) {
  const std::size_t stepA = v.MR * 4, stepB = v.NR * 4;
  const std::size_t countA = parts(b.ni, stepA), countB = withB ? parts(b.nj, stepB) : 0;
  return crew.each(countA + countB, [&](std::size_t i, unsigned) {
    if (i < countA) {
      const std::size_t r = i * stepA;
      p.a->pack(b.i0 + r, std::min(stepA, b.ni - r), b.k0, b.kc, v.MR, b.packedA + r * b.kc);
    } else {
      const std::size_t r = (i - countA) * stepB;
      p.b->pack(b.j0 + r, std::min(stepB, b.nj - r), b.k0, b.kc, v.NR, b.packedB + r * b.kc);
    }
  });
}

template <class T>
bool multiply_block(const GemmVariant<T>& v, const GemmProblem<T>& p, const Block<T>& b, const Crew& crew) {
  const Blocking task = tasks_of(v, b.ni, b.nj, crew.threads);
  const std::size_t across = parts(b.nj, task.cols);
  const bool finish = b.k0 + b.kc == p.K && (p.bias != nullptr || p.relu);
  return crew.each(parts(b.ni, task.rows) * across, [&](std::size_t index, unsigned) {
    const std::size_t iFrom = index / across * task.rows, iTo = std::min(b.ni, iFrom + task.rows);
    const std::size_t jFrom = index % across * task.cols, jTo = std::min(b.nj, jFrom + task.cols);
    for (std::size_t i = iFrom; i < iTo; i += v.MR) {
      for (std::size_t j = jFrom; j < jTo; j += v.NR) {
        const std::size_t row = b.i0 + i, col = b.j0 + j;
        v.kernel({.a = b.packedA + i * b.kc,
                  .b = b.packedB + j * b.kc,
                  .kc = b.kc,
                  .c = p.c + row * p.ldc + col,
                  .ldc = p.ldc,
                  .m = int(std::min(v.MR, b.ni - i)),
                  .n = int(std::min(v.NR, b.nj - j)),
                  .accumulate = b.k0 > 0,
                  .finish = finish,
                  .relu = p.relu,
                  .bias = p.bias == nullptr ? nullptr : p.bias + row * p.biasI + col * p.biasJ,
                  .biasI = p.biasI,
                  .biasJ = p.biasJ});
      }
    }
  });
}

}  // namespace

template <class T>
Blocking Blocking::of(const GemmVariant<T>& v, std::size_t M, std::size_t N) {
  const std::size_t budget = std::min(kPackedBytes, std::max<std::size_t>(caches().l3 / 2, 1 << 20));
  return {fit(budget / 2, v.KC * sizeof(T), v.MR, M), fit(budget, v.KC * sizeof(T), v.NR, N)};
}

template <class T>
std::size_t gemm_scratch(const GemmVariant<T>& v, std::size_t M, std::size_t N, std::size_t K) {
  const Blocking outer = Blocking::of(v, M, N);
  return (outer.rows + outer.cols) * std::min(v.KC, K);
}

template <class T>
bool gemm(const GemmVariant<T>& v, const GemmProblem<T>& p, const Crew& crew, T* scratch) {
  const Blocking outer = Blocking::of(v, p.M, p.N);
  T* const packedB = scratch;
  T* const packedA = scratch + outer.cols * std::min(v.KC, p.K);
  for (std::size_t j0 = 0; j0 < p.N; j0 += outer.cols) {
    std::size_t k0 = 0;
    do {
      for (std::size_t i0 = 0; i0 < p.M; i0 += outer.rows) {
        const Block<T> block{j0, std::min(outer.cols, p.N - j0), k0, std::min(v.KC, p.K - k0),
                             i0, std::min(outer.rows, p.M - i0), packedA, packedB};
        if (!pack_block(v, p, block, i0 == 0, crew) || !multiply_block(v, p, block, crew)) return false;
      }
      k0 += v.KC;
    } while (k0 < p.K);
  }
  return true;
}

template std::size_t gemm_scratch(const GemmVariant<float>&, std::size_t, std::size_t, std::size_t);
template std::size_t gemm_scratch(const GemmVariant<double>&, std::size_t, std::size_t, std::size_t);
template bool gemm(const GemmVariant<float>&, const GemmProblem<float>&, const Crew&, float*);
template bool gemm(const GemmVariant<double>&, const GemmProblem<double>&, const Crew&, double*);

}  // namespace uhop
