#include <algorithm>

#include "../../native/cpu/panels.h"
#include "checks.h"
#include "memory.h"
#include "operands.h"
#include "reference.h"

// GEMM micro-kernels called as `gemm` calls them, one tile at a time.

namespace uhop::check {

namespace {

struct TileCase {
  int m;
  int n;
  std::size_t kc;
  Kind kind;
  bool accumulate;
  bool finish;
  bool relu;
  bool few;
  int bias;  // 0 none, 1 one number, 2 one a row, 3 one a column
};

template <class T>
class TileCheck {
 public:
  TileCheck(const GemmVariant<T>& v, Report& report) : v_(v), report_(report) {}

  void run(const TileCase& one) {
    const std::size_t seed = report_.cases();
    Random random(seed);
    const bool atEnd = seed % 4 != 3;
    const std::size_t m = std::size_t(one.m), n = std::size_t(one.n);
    const std::size_t terms = one.kc + (one.accumulate ? 1 : 0);
    // Each operand in panels or where a caller has it: rows of A side by side in k, rows of B without gaps.
    const bool panelsOfA = seed % 2 == 0, panelsOfB = one.few ? false : seed / 2 % 2 == 0;
    const std::size_t aRow = panelsOfA ? 1 : one.kc, aStep = panelsOfA ? v_.MR + kFewRows : 1;
    const std::size_t bStep = panelsOfB ? columns_of(v_, n).lanes(0) : n;
    const std::size_t elementsA = panelsOfA ? one.kc * aStep : m * one.kc, elementsB = one.kc * bStep;
    T* const a = a_.template place<T>(elementsA, atEnd);
    T* const b = b_.template place<T>(elementsB, atEnd);
    fill(a, elementsA, one.kind, Role::left, terms, random);
    fill(b, elementsB, one.kind, Role::right, terms, random);
    const std::size_t biases = one.bias == 2 ? m : one.bias == 3 ? n : 1;
    T* const bias = bias_.template place<T>(biases, atEnd);
    fill(bias, biases, one.kind, Role::bias, terms, random);

    const std::size_t ldc = n + seed % 3 * 5, length = (m - 1) * ldc + n;
    T* const c = c_.template place<T>(length, atEnd);
    for (std::size_t i = 0; i < length; ++i) c[i] = untouched<T>();
    std::vector<T> before(m * n);
    fill(before.data(), m * n, one.kind, Role::bias, terms, random);
    if (one.accumulate) {
      for (std::size_t i = 0; i < m; ++i) std::copy_n(&before[i * n], n, c + i * ldc);
    }
    const std::size_t biasI = one.bias == 2, biasJ = one.bias == 3;
    const GemmTile<T> tile{.a = a,
                           .aRow = aRow,
                           .aStep = aStep,
                           .b = b,
                           .bStep = bStep,
                           .bPadded = panelsOfB,
                           .kc = one.kc,
                           .c = c,
                           .ldc = ldc,
                           .m = one.m,
                           .n = one.n,
                           .accumulate = one.accumulate,
                           .finish = one.finish,
                           .relu = one.relu,
                           .bias = one.bias == 0 ? nullptr : bias,
                           .biasI = biasI,
                           .biasJ = biasJ};
    alignas(64) T sums[kFewRows * 2 * kMostLanes];
    const auto run = [&] { one.few ? v_.fewRows(tile, sums) : v_.kernel(tile); };
    if (!survives(run)) return fail(one, "touched memory outside of its operands");

    Expected expected;
    std::vector<T> got;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        Dot<T> dot;
        if (one.accumulate) dot.add(before[i * n + j], 1);
        for (std::size_t k = 0; k < one.kc; ++k) dot.add(a[i * aRow + k * aStep], b[k * bStep + j]);
        const bool withBias = one.finish && one.bias != 0;
        expected.push<T>(dot, withBias ? bias + i * biasI + j * biasJ : nullptr, one.finish && one.relu);
        got.push_back(c[i * ldc + j]);
        c[i * ldc + j] = untouched<T>();
      }
    }
    const Verdict verdict{terms, is_exact(one.kind), one.finish && one.relu};
    const std::string wrong = first_wrong(got.data(), expected, verdict);
    if (!wrong.empty()) return fail(one, wrong);
    for (std::size_t i = 0; i < length; ++i) {
      if (bits_of(c[i]) != bits_of(untouched<T>())) return fail(one, "wrote between the rows of C");
    }
    report_.passed(got.data(), got.size());
  }

 private:
  void fail(const TileCase& one, const std::string& what) {
    report_.fail(text("%s m=%d n=%d kc=%zu %s%s%s%s bias %d: %s", one.few ? "few rows" : "tile", one.m, one.n, one.kc,
                      name_of(one.kind), one.accumulate ? ", accumulates" : "", one.finish ? ", finishes" : "",
                      one.relu ? ", relu" : "", one.bias, what.c_str()));
  }

  const GemmVariant<T>& v_;
  Report& report_;
  Fenced a_, b_, c_, bias_;
};

}  // namespace

template <class T>
void check_tiles(const GemmVariant<T>& v, Effort effort, Report& report) {
  TileCheck<T> check(v, report);
  std::size_t turn = 0;
  const std::size_t depths[] = {0, 1, 2, 3, 4, 7, 33};
  const int most = int(columns_of(v, 2 * v.NR).most_lanes(1));
  for (int m = 1; m <= std::max(int(v.MR), kFewRows); ++m) {
    for (int n = 1; n <= most; ++n) {
      for (const std::size_t kc : depths) {
        ++turn;
        if (effort == Effort::brief && turn % 3 != 0) continue;
        Random random(turn);
        const bool few = m > int(v.MR) || (m <= kFewRows && random.one_in(3));
        check.run({.m = m,
                   .n = n,
                   .kc = kc,
                   .kind = Kind(turn % kKinds),
                   .accumulate = random.one_in(2),
                   .finish = random.one_in(2),
                   .relu = random.one_in(2),
                   .few = few,
                   .bias = int(random.between(0, 3))});
        if (report.failed()) return;
      }
    }
  }
}

template void check_tiles(const GemmVariant<float>&, Effort, Report&);
template void check_tiles(const GemmVariant<double>&, Effort, Report&);

}  // namespace uhop::check
