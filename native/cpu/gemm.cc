#include "gemm.h"

#include <algorithm>

#include "plan.h"
#include "split_k.h"

namespace uhop {

// The loops of BLIS, with these changes. An operand that lies well for the kernel is read where it lies. The k loop is
// inside the task that owns a tile of C, which therefore stays in the cache of one core. What several tasks need packed
// is packed before them, for as many k blocks at once as the budget holds, so the threads meet twice per outer block
// and not twice per k block. What one task alone needs that task packs, just before use, into a buffer that stays in
// its cache: the tile's panels of B, one panel of A at a time.

namespace {

/** Extents up to which a product is called small. */
constexpr std::size_t kSmall = 96;

/** The loops over one outer block: panels `rows` and `cols`, contracted [k0, k0+nk). */
template <class T>
class Block {
 public:
  using From = typename Plan<T>::From;

  Range rows;
  Range cols;
  std::size_t k0, nk;
  const GemmVariant<T>& v;
  const GemmProblem<T>& p;
  const Plan<T>& plan;
  T* scratch;

  bool pack_shared(bool withA, bool withB, const Crew& crew) const {
    constexpr std::size_t step = 4;
    const std::size_t countA = withA ? parts(rows.size(), step) : 0;
    const std::size_t count = countA + (withB ? parts(cols.size(), step) : 0);
    return crew.each(count * parts(nk, v.KC), [&](std::size_t task, unsigned) {
      const std::size_t k = task / count * v.KC, i = task % count;
      if (i < countA) {
        pack(plan.rows, *p.a, some(rows, i * step, step), k, shared_a(rows.from + i * step, k));
      } else {
        const std::size_t j = (i - countA) * step;
        pack(plan.cols, *p.b, some(cols, j, step), k, shared_b(cols.from + j, k));
      }
    });
  }

  bool multiply(const Crew& crew) const {
    return crew.each(plan.rowParts * plan.colParts, [&](std::size_t task, unsigned slot) {
      const Range i = rows.part(task % plan.rowParts, plan.rowParts);
      const Range j = cols.part(task / plan.rowParts, plan.colParts);
      T* const ownA = scratch + plan.sharedA + plan.sharedB + slot * plan.own();
      T* const ownB = ownA + plan.ownA;
      if (i.size() == 0 || j.size() == 0) return;
      const std::size_t step = plan.deep ? std::max(nk, v.KC) : v.KC;
      std::size_t k = 0;
      do {
        if (plan.fewRows) {
          multiply_few(j, k, ownB);
        } else {
          multiply_rows(i, j, k, std::min(k + step, nk), ownA, ownB);
        }
        k += step;
      } while (k < nk && !crew.cancelled());
    });
  }

 private:
  std::size_t depth_at(std::size_t k) const { return std::min(v.KC, nk - k); }
  static Range some(const Range& all, std::size_t from, std::size_t most) {
    return {all.from + from, std::min(all.from + from + most, all.until)};
  }
  T* shared_a(std::size_t panel, std::size_t k) const {
    return scratch + plan.rows.lanes(rows.from, rows.until) * k + between(plan.rows, rows.from, panel) * depth_at(k);
  }
  T* shared_b(std::size_t panel, std::size_t k) const {
    return scratch + plan.sharedA + plan.cols.lanes(cols.from, cols.until) * k +
           between(plan.cols, cols.from, panel) * depth_at(k);
  }
  static std::size_t between(const Cut& cut, std::size_t from, std::size_t panel) {
    return cut.start(panel) - cut.start(from);
  }

  void pack(const Cut& cut, const PanelSource<T>& source, const Range& panels, std::size_t k, T* to) const {
    pack_panels(source, cut, panels, k0 + k, depth_at(k), to);
  }

  /** All that a tile of C at (row, col) needs to know but its operands. */
  GemmTile<T> tile_at(std::size_t row, std::size_t col, std::size_t k) const {
    GemmTile<T> t{};
    t.kc = depth_at(k);
    t.c = p.c + row * p.ldc + col;
    t.ldc = p.ldc;
    t.accumulate = k0 + k > 0;
    t.finish = k0 + k + t.kc == p.K && (p.bias != nullptr || p.relu);
    t.relu = p.relu;
    t.bias = p.bias == nullptr ? nullptr : p.bias + row * p.biasI + col * p.biasJ;
    t.biasI = p.biasI;
    t.biasJ = p.biasJ;
    return t;
  }

  /** Rows i of C by columns j over k from `from` to `until`; several k blocks at once when the plan is deep. */
  void multiply_rows(const Range& i, const Range& j, std::size_t from, std::size_t until, T* ownA, T* ownB) const {
    const std::size_t lanes = plan.cols.lanes(j.from, j.until);
    const auto blocks = [&](auto&& run) {
      std::size_t k = from;
      do {
        run(k, ownB + lanes * (k - from));
        k += v.KC;
      } while (k < until);
    };
    if (plan.b == From::own) blocks([&](std::size_t k, T* b) { pack(plan.cols, *p.b, j, k, b); });
    // A last panel that is wide goes apart, on fewer rows, where the rows can be cut anew.
    const bool apart = plan.cols.wide(j.until - 1) && plan.a == From::place;
    const Range panels{j.from, j.until - apart};
    for (std::size_t r = i.from; panels.size() > 0 && r < i.until; ++r) {
      blocks([&](std::size_t k, const T* b) {
        multiply_strip(plan.rows.start(r), plan.rows.size(r), left_panel(r, k, ownA), j.from, panels, k, b);
      });
    }
    const std::size_t end = plan.rows.start(i.until), step = rows_when_wide(v);
    for (std::size_t row = plan.rows.start(i.from); apart && row < end; row += step) {
      blocks([&](std::size_t k, const T* b) {
        const Strided<T> a = left_in_place(row, k);
        multiply_strip(row, std::min(step, end - row), a, j.from, {j.until - 1, j.until}, k, b);
      });
    }
  }

  Strided<T> left_in_place(std::size_t row, std::size_t k) const {
    const auto [data, strideI, strideK] = p.a->in_place();
    return {data + row * strideI + (k0 + k) * strideK, strideI, strideK};
  }

  /** Panel r of A over one k block, packed now where that is this task's own work. */
  Strided<T> left_panel(std::size_t r, std::size_t k, T* ownA) const {
    if (plan.a == From::place) return left_in_place(plan.rows.start(r), k);
    if (plan.a == From::own) pack(plan.rows, *p.a, {r, r + 1}, k, ownA);
    return {plan.a == From::own ? ownA : shared_a(r, k), 1, plan.rows.lanes(r)};
  }

  // The panel of A stays in the first cache while the task's panels of B, which begin with `first`, pass by from the
  // second.
  void multiply_strip(std::size_t row, std::size_t m, const Strided<T>& a, std::size_t first, const Range& panels,
                      std::size_t k, const T* ownB) const {
    const std::size_t left = plan.cols.start(first);
    GemmTile<T> t = tile_at(row, left, k);
    t.m = int(m);
    t.a = a.data;
    t.aRow = a.strideI;
    t.aStep = a.strideK;
    const bool place = plan.b == From::place;
    const T* b = ownB;
    std::size_t perColumn = t.kc;
    if (place) {
      const auto [data, strideI, strideK] = p.b->in_place();
      b = data + left + (k0 + k) * strideK;
      t.bStep = strideK;
      perColumn = 1;
    } else if (plan.b == From::prepacked) {
      b = p.b->prepacked() + plan.cols.lanes(0, plan.cols.count()) * (k0 + k) + left * t.kc;
    } else if (plan.b == From::shared) {
      b = shared_b(first, k);
    }
    t.bPadded = !place;
    T* const c = t.c;
    const T* const bias = t.bias;
    for (std::size_t panel = panels.from; panel < panels.until; ++panel) {
      const std::size_t col = plan.cols.start(panel) - left;
      t.n = int(plan.cols.size(panel));
      t.b = b + col * perColumn;
      if (!place) t.bStep = plan.cols.lanes(panel);
      t.c = c + col;
      if (bias != nullptr) t.bias = bias + col * p.biasJ;
      v.kernel(t);
    }
  }

  void multiply_few(const Range& j, std::size_t k, T* sums) const {
    const auto [a, strideI, strideK] = p.a->in_place();
    const auto [b, one, step] = p.b->in_place();
    const std::size_t col = plan.cols.start(j.from);
    GemmTile<T> t = tile_at(0, col, k);
    t.a = a + (k0 + k) * strideK;
    t.aRow = strideI;
    t.aStep = strideK;
    t.b = b + col + (k0 + k) * step;
    t.bStep = step;
    t.bPadded = false;
    t.m = int(p.M);
    t.n = int(plan.cols.start(j.until) - col);
    v.fewRows(t, sums);
  }
};

/** A product that is done sooner than planned: both operands small and read where they lie, one block of k. */
template <class T>
bool is_small(const GemmVariant<T>& v, const GemmProblem<T>& p, const Strided<T>& a, const Strided<T>& b) {
  return a.data != nullptr && b.data != nullptr && b.strideI == 1 && p.K <= v.KC && p.M <= kSmall && p.N <= kSmall &&
         p.K <= kSmall;
}

template <class T>
void multiply_small(const GemmVariant<T>& v, const GemmProblem<T>& p, const Strided<T>& a, const Strided<T>& b) {
  GemmTile<T> t{};
  t.aRow = a.strideI;
  t.aStep = a.strideK;
  t.bStep = b.strideK;
  t.kc = p.K;
  t.ldc = p.ldc;
  t.finish = p.bias != nullptr || p.relu;
  t.relu = p.relu;
  t.biasI = p.biasI;
  t.biasJ = p.biasJ;
  const std::size_t more = more_columns(v);
  for (std::size_t col = 0; col < p.N;) {
    const bool wide = p.N - col > v.NR && p.N - col <= v.NR + more;
    const std::size_t n = wide ? p.N - col : std::min(v.NR, p.N - col), step = wide ? rows_when_wide(v) : v.MR;
    t.n = int(n);
    t.b = b.data + col;
    for (std::size_t row = 0; row < p.M; row += step) {
      t.m = int(std::min(step, p.M - row));
      t.a = a.data + row * a.strideI;
      t.c = p.c + row * p.ldc + col;
      if (p.bias != nullptr) t.bias = p.bias + row * p.biasI + col * p.biasJ;
      v.kernel(t);
    }
    col += n;
  }
}

}  // namespace

template <class T>
std::size_t gemm_scratch(const GemmVariant<T>& v, const GemmProblem<T>& p, unsigned threads) {
  if (is_small(v, p, p.a->in_place(), p.b->in_place())) return 0;
  const Plan<T> plan(v, p, threads);
  return plan.splitK ? split_scratch(v, p, threads) : plan.elements(threads);
}

template <class T>
bool gemm(const GemmVariant<T>& v, const GemmProblem<T>& p, const Crew& crew, T* scratch) {
  const Strided<T> a = p.a->in_place(), b = p.b->in_place();
  if (is_small(v, p, a, b)) {
    multiply_small(v, p, a, b);
    return true;
  }
  const Plan<T> plan(v, p, crew.threads);
  if (plan.splitK) return split_gemm(v, p, crew, scratch);
  for (std::size_t j0 = 0; j0 < plan.cols.count(); j0 += plan.outerCols) {
    std::size_t k0 = 0;
    do {
      for (std::size_t i0 = 0; i0 < plan.rows.count(); i0 += plan.outerRows) {
        const Block<T> block{{i0, std::min(i0 + plan.outerRows, plan.rows.count())},
                             {j0, std::min(j0 + plan.outerCols, plan.cols.count())},
                             k0,
                             std::min(plan.depth, p.K - k0),
                             v,
                             p,
                             plan,
                             scratch};
        using From = typename Plan<T>::From;
        const bool packed = block.pack_shared(plan.a == From::shared, plan.b == From::shared && i0 == 0, crew);
        if (!packed || !block.multiply(crew)) return false;
      }
      k0 += plan.depth;
    } while (k0 < p.K);
  }
  return true;
}

template std::size_t gemm_scratch(const GemmVariant<float>&, const GemmProblem<float>&, unsigned);
template std::size_t gemm_scratch(const GemmVariant<double>&, const GemmProblem<double>&, unsigned);
template bool gemm(const GemmVariant<float>&, const GemmProblem<float>&, const Crew&, float*);
template bool gemm(const GemmVariant<double>&, const GemmProblem<double>&, const Crew&, double*);

}  // namespace uhop
