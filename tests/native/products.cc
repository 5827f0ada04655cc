#include "checks.h"
#include "covering.h"
#include "memory.h"
#include "operands.h"
#include "reference.h"

// Whole matrix products through the driver: every transposition, batch, bias and activation; one, two and three
// threads.

namespace uhop::check {

namespace {

enum class Batch { none, dense, oneA, oneB, crossed };

struct ProductCase {
  MatmulCall call;
  Kind kind;
  bool allThreads;
};

/** The call and, of its operands, how they lie in memory. */
MatmulCall call_of(std::size_t M, std::size_t N, std::size_t K, Batch batch, Random& random) {
  MatmulCall call{M, N, K, random.one_in(2), random.one_in(2), Bias(random.between(0, 2)), random.one_in(2), {}};
  const std::size_t a = M * K, b = K * N;
  if (batch == Batch::dense) call.batch = {{3, a, b}};
  if (batch == Batch::oneA) call.batch = {{3, 0, b}};
  if (batch == Batch::oneB) call.batch = {{3, a, 0}};
  if (batch == Batch::crossed) call.batch = {{2, a, 0}, {2, 0, b}};
  return call;
}

template <class T>
class ProductCheck {
 public:
  ProductCheck(const GemmVariant<T>& v, Report& report) : v_(v), report_(report) {}

  void run(const ProductCase& one) {
    const MatmulCall& call = one.call;
    const std::size_t seed = report_.cases();
    Random random(seed);
    const auto operand = [&](Fenced& where, std::size_t count, Role role) {
      T* const x = where.place<T>(count, seed % 4 != 3);
      fill(x, count, one.kind, role, call.K, random);
      return x;
    };
    const T* const a = operand(a_, call.needA(), Role::left);
    const T* const b = operand(b_, call.needB(), Role::right);
    const std::size_t biases = call.bias == Bias::row ? call.N : 1;
    const T* const bias = call.bias == Bias::none ? nullptr : operand(bias_, biases, Role::bias);

    std::vector<Bits<T>> first;
    for (unsigned threads = 1; threads <= 3; ++threads) {
      if (!one.allThreads && threads != 1 + seed % 3) continue;
      T* const out = out_.prepare(call.needOut(), seed % 16);
      if (!matmul(v_, call, Operands<T>{a, b, bias, out}, Crew{threads})) return fail(one, threads, "was cancelled");
      if (!out_.intact()) return fail(one, threads, "wrote around the result");
      if (first.empty()) {
        const Verdict verdict{call.K, is_exact(one.kind), call.relu};
        const std::string wrong = first_wrong<T>(out, expected(call, a, b, bias), verdict);
        if (!wrong.empty()) return fail(one, threads, wrong);
        for (std::size_t i = 0; i < out_.count(); ++i) first.push_back(bits_of(out[i]));
      }
      for (std::size_t i = 0; i < first.size(); ++i) {
        if (bits_of(out[i]) != first[i]) return fail(one, threads, "gave other bits than one thread");
      }
    }
    report_.passed(out_.data(), out_.count());
  }

 private:
  Expected expected(const MatmulCall& call, const T* a, const T* b, const T* bias) const {
    const std::size_t M = call.M, N = call.N, K = call.K;
    Expected result;
    std::vector<double> left(M * K), right(K * N);  // right by columns
    for (std::size_t item = 0; item < call.items(); ++item) {
      std::size_t atA = 0, atB = 0, rest = item;
      for (std::size_t axis = call.batch.size(); axis-- > 0; rest /= call.batch[axis].extent) {
        atA += rest % call.batch[axis].extent * call.batch[axis].strideA;
        atB += rest % call.batch[axis].extent * call.batch[axis].strideB;
      }
      for (std::size_t k = 0; k < K; ++k) {
        for (std::size_t i = 0; i < M; ++i) {
          left[i * K + k] = value_of(a[atA + (call.transposeA ? k * M + i : i * K + k)]);
        }
        for (std::size_t j = 0; j < N; ++j) {
          right[j * K + k] = value_of(b[atB + (call.transposeB ? j * K + k : k * N + j)]);
        }
      }
      for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t j = 0; j < N; ++j) {
          Dot<T> dot;
          for (std::size_t k = 0; k < K; ++k) dot.add(left[i * K + k], right[j * K + k]);
          result.push<T>(dot, bias == nullptr || call.bias == Bias::scalar ? bias : bias + j, call.relu);
        }
      }
    }
    return result;
  }

  void fail(const ProductCase& one, unsigned threads, const std::string& what) {
    const MatmulCall& call = one.call;
    report_.fail(text("matmul %zux%zux%zu%s%s, %zu items, bias %d%s, %s, %u threads: %s", call.M, call.N, call.K,
                      call.transposeA ? ", A transposed" : "", call.transposeB ? ", B transposed" : "", call.items(),
                      int(call.bias), call.relu ? ", relu" : "", name_of(one.kind), threads, what.c_str()));
  }

  const GemmVariant<T>& v_;
  Report& report_;
  Fenced a_, b_, bias_;
  Guarded<T> out_;
};

/** Products that are cut: deeper than KC, larger than one tile or one block; M, N, K. */
std::vector<Triple> cut(std::size_t MR, std::size_t NR, std::size_t KC, Effort effort) {
  std::vector<Triple> sizes;
  for (const std::size_t K : {KC - 1, KC, KC + 1, 2 * KC + 3}) {
    for (const std::size_t M : {std::size_t(1), MR, 2 * MR + 1}) {
      for (const std::size_t N : {std::size_t(1), NR - 1, NR, NR + 1}) sizes.push_back({M, N, K});
    }
  }
  if (effort == Effort::brief) return sizes;
  for (const Triple& one : {Triple{67, 67, 2 * KC + 3},
                            {4, 8200, 5},
                            {4100, 5, 3},
                            {3, 8200, KC + 1},
                            {700, 250, 40},
                            {1030, 3, KC + 1},
                            {65, 1030, 67}}) {
    sizes.push_back(one);
  }
  return sizes;
}

}  // namespace

template <class T>
void check_matmul(const GemmVariant<T>& v, Effort effort, Report& report) {
  ProductCheck<T> check(v, report);
  std::size_t turn = 0;
  const auto run = [&](const Triple& size, Batch batch, bool allThreads) {
    Random random(++turn);
    const MatmulCall call = call_of(size.x, size.y, size.z, batch, random);
    check.run({call, Kind(random.between(0, kKinds - 1)), allThreads});
    return !report.failed();
  };
  for (const Triple& size : covering(effort)) {
    const Batch batch = turn % 3 != 0 ? Batch::none : Batch(turn / 3 % 5);
    if (!run(size, batch, false)) return;
  }
  for (const Triple& size : cut(v.MR, v.NR, v.KC, effort)) {
    if (!run(size, Batch::none, true)) return;
  }
  for (const Batch batch : {Batch::none, Batch::dense, Batch::oneA, Batch::oneB, Batch::crossed}) {
    // Nothing, and enough for three threads, beside and inside the items.
    for (const Triple& size : {Triple{0, 3, 2}, {3, 0, 2}, {3, 2, 0}, {93, 67, 190}, {45, 33, 900}}) {
      for (int again = 0; again < (effort == Effort::full ? 3 : 1); ++again) {
        if (!run(size, batch, true)) return;
      }
    }
  }
}

template void check_matmul(const GemmVariant<float>&, Effort, Report&);
template void check_matmul(const GemmVariant<double>&, Effort, Report&);
template void check_matmul(const GemmVariant<F16Bits>&, Effort, Report&);
template void check_matmul(const GemmVariant<Bf16Bits>&, Effort, Report&);

}  // namespace uhop::check
