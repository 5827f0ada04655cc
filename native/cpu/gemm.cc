#include "gemm.h"

#include <algorithm>

#include "../probe/caches.h"

namespace uhop {

// The loops of BLIS, with these changes. The k loop is inside the task that owns a tile of C, which therefore stays in
// the cache of one core. What several tasks need is packed before them, for as many k blocks at once as the budget
// holds, so the threads meet twice per outer block and not twice per k block. What one task alone needs that task
// packs, just before use, into a buffer that stays in its cache: the tile's panels of B, one panel of A at a time.

namespace {

constexpr std::size_t kPackedBytesA = 8 << 20;
constexpr std::size_t kPackedBytesB = 16 << 20;
constexpr std::size_t kMostColumns = 8192;

constexpr std::size_t parts(std::size_t n, std::size_t size) { return (n + size - 1) / size; }
constexpr std::size_t round_up(std::size_t n, std::size_t to) { return parts(n, to) * to; }

/** The largest multiple of `unit` within `most`, at least one unit, at most what n needs. */
std::size_t fit(std::size_t most, std::size_t unit, std::size_t n) {
  return std::min(std::max<std::size_t>(most / unit, 1) * unit, round_up(n, unit));
}

struct Extent {
  std::size_t rows;
  std::size_t cols;
};

/** Rows and columns of C that one task computes: halved until every thread has several tasks. */
template <class T>
Extent tile_of(const GemmVariant<T>& v, Extent whole, unsigned threads) {
  // The tile's B panels fill about a third of the second cache and are used again for each of many rows of A.
  const std::size_t lanes = second_cache() / (v.KC * sizeof(T));
  Extent tile{fit(lanes, v.MR, whole.rows), fit(lanes * 3 / 10, v.NR, whole.cols)};
  const auto halve = [](std::size_t n, std::size_t unit) { return round_up(parts(n, 2), unit); };
  while (threads > 1 && parts(whole.rows, tile.rows) * parts(whole.cols, tile.cols) < 4 * threads) {
    if (tile.cols > 2 * v.NR && tile.cols >= tile.rows) {
      tile.cols = halve(tile.cols, v.NR);
    } else if (tile.rows > v.MR) {
      tile.rows = halve(tile.rows, v.MR);
    } else if (tile.cols > v.NR) {
      tile.cols = halve(tile.cols, v.NR);
    } else {
      break;
    }
  }
  return tile;
}

/** How one problem is cut. Speed only: the sums are the same for every plan. */
struct Plan {
  Extent outer;
  std::size_t depth;
  Extent tile;
  bool sharedA;
  bool sharedB;
  /** Elements of the shared panels, and of those of one thread. */
  std::size_t panelsA;
  std::size_t panelsB;
  std::size_t privateA;
  std::size_t privateB;

  template <class T>
  Plan(const GemmVariant<T>& v, std::size_t M, std::size_t N, std::size_t K, unsigned threads) {
    outer.cols = fit(kMostColumns, v.NR, N);
    depth = fit(kPackedBytesB / (outer.cols * sizeof(T)), v.KC, std::max<std::size_t>(K, 1));
    outer.rows = fit(kPackedBytesA / (depth * sizeof(T)), v.MR, M);
    tile = tile_of(v, outer, threads);
    sharedA = N > tile.cols;
    sharedB = M > tile.rows;
    const std::size_t deep = std::min(depth, K), kc = std::min(v.KC, K);
    panelsA = sharedA ? outer.rows * deep : 0;
    panelsB = sharedB ? outer.cols * deep : 0;
    privateA = sharedA ? 0 : v.MR * kc;
    privateB = sharedB ? 0 : tile.cols * kc;
  }

  std::size_t elements(unsigned threads) const { return panelsA + panelsB + threads * (privateA + privateB); }
};

/** The loops over one outer block: rows [i0, i0+ni), columns [j0, j0+nj), contracted [k0, k0+nk). */
template <class T>
class Block {
 public:
  std::size_t i0, ni, j0, nj, k0, nk;
  const GemmVariant<T>& v;
  const GemmProblem<T>& p;
  const Plan& plan;
  T* scratch;

  bool pack_shared(bool withA, bool withB, const Crew& crew) const {
    const std::size_t stepA = v.MR * 4, stepB = v.NR * 4;
    const std::size_t countA = withA ? parts(ni, stepA) : 0, count = countA + (withB ? parts(nj, stepB) : 0);
    return crew.each(count * parts(nk, v.KC), [&](std::size_t task, unsigned) {
      const std::size_t k = task / count * v.KC, i = task % count;
      if (i < countA) {
        pack_a(i * stepA, std::min(stepA, ni - i * stepA), k, shared_a(k) + i * stepA * depth_at(k));
      } else {
        const std::size_t j = (i - countA) * stepB;
        pack_b(j, std::min(stepB, nj - j), k, shared_b(k) + j * depth_at(k));
      }
    });
  }

  bool multiply(const Crew& crew) const {
    const Extent& tile = plan.tile;
    const std::size_t across = parts(nj, tile.cols);
    return crew.each(parts(ni, tile.rows) * across, [&](std::size_t task, unsigned slot) {
      const std::size_t i = task / across * tile.rows, j = task % across * tile.cols;
      const Extent part{std::min(tile.rows, ni - i), std::min(tile.cols, nj - j)};
      T* const ownA = scratch + plan.panelsA + plan.panelsB + slot * (plan.privateA + plan.privateB);
      T* const ownB = ownA + plan.privateA;
      std::size_t k = 0;
      do {
        if (!plan.sharedB) pack_b(j, part.cols, k, ownB);
        const T* const b = plan.sharedB ? shared_b(k) + j * depth_at(k) : ownB;
        if (plan.sharedA) {
          multiply_tile(i, j, part, k, shared_a(k) + i * depth_at(k), b);
        } else {
          for (std::size_t r = 0; r < part.rows; r += v.MR) {
            const Extent strip{std::min(v.MR, part.rows - r), part.cols};
            pack_a(i + r, strip.rows, k, ownA);
            multiply_tile(i + r, j, strip, k, ownA, b);
          }
        }
        k += v.KC;
      } while (k < nk && !crew.cancelled());
    });
  }

 private:
  std::size_t depth_at(std::size_t k) const { return std::min(v.KC, nk - k); }
  T* shared_a(std::size_t k) const { return scratch + round_up(ni, v.MR) * k; }
  T* shared_b(std::size_t k) const { return scratch + plan.panelsA + round_up(nj, v.NR) * k; }
  void pack_a(std::size_t i, std::size_t count, std::size_t k, T* to) const {
    p.a->pack(i0 + i, count, k0 + k, depth_at(k), v.MR, to);
  }
  void pack_b(std::size_t j, std::size_t count, std::size_t k, T* to) const {
    p.b->pack(j0 + j, count, k0 + k, depth_at(k), v.NR, to);
  }

  // The A panel stays in the first cache while the tile's B panels pass by from the second.
  void multiply_tile(std::size_t iFrom, std::size_t jFrom, const Extent& part, std::size_t k, const T* a,
                     const T* b) const {
    const std::size_t kc = depth_at(k);
    const bool finish = k0 + k + kc == p.K && (p.bias != nullptr || p.relu);
    for (std::size_t i = 0; i < part.rows; i += v.MR) {
      for (std::size_t j = 0; j < part.cols; j += v.NR) {
        const std::size_t row = i0 + iFrom + i, col = j0 + jFrom + j;
        v.kernel({.a = a + i * kc,
                  .b = b + j * kc,
                  .kc = kc,
                  .c = p.c + row * p.ldc + col,
                  .ldc = p.ldc,
                  .m = int(std::min(v.MR, part.rows - i)),
                  .n = int(std::min(v.NR, part.cols - j)),
                  .accumulate = k0 + k > 0,
                  .finish = finish,
                  .relu = p.relu,
                  .bias = p.bias == nullptr ? nullptr : p.bias + row * p.biasI + col * p.biasJ,
                  .biasI = p.biasI,
                  .biasJ = p.biasJ});
      }
    }
  }
};

}  // namespace

template <class T>
std::size_t gemm_scratch(const GemmVariant<T>& v, std::size_t M, std::size_t N, std::size_t K, unsigned threads) {
  return Plan(v, M, N, K, threads).elements(threads);
}

template <class T>
bool gemm(const GemmVariant<T>& v, const GemmProblem<T>& p, const Crew& crew, T* scratch) {
  const Plan plan(v, p.M, p.N, p.K, crew.threads);
  for (std::size_t j0 = 0; j0 < p.N; j0 += plan.outer.cols) {
    std::size_t k0 = 0;
    do {
      for (std::size_t i0 = 0; i0 < p.M; i0 += plan.outer.rows) {
        const Block<T> block{i0, std::min(plan.outer.rows, p.M - i0),
                             j0, std::min(plan.outer.cols, p.N - j0),
                             k0, std::min(plan.depth, p.K - k0),
                             v,  p,
                             plan, scratch};
        const bool packed = block.pack_shared(plan.sharedA, plan.sharedB && i0 == 0, crew);
        if (!packed || !block.multiply(crew)) return false;
      }
      k0 += plan.depth;
    } while (k0 < p.K);
  }
  return true;
}

template std::size_t gemm_scratch(const GemmVariant<float>&, std::size_t, std::size_t, std::size_t, unsigned);
template std::size_t gemm_scratch(const GemmVariant<double>&, std::size_t, std::size_t, std::size_t, unsigned);
template bool gemm(const GemmVariant<float>&, const GemmProblem<float>&, const Crew&, float*);
template bool gemm(const GemmVariant<double>&, const GemmProblem<double>&, const Crew&, double*);

}  // namespace uhop
