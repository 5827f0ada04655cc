#include "../../native/cpu/elementwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "checks.h"
#include "memory.h"
#include "operands.h"

// Kernels of one element each: relu, and conversions of 16-bit elements. All are exact.

namespace uhop::check {

namespace {

/** Whether y is what x should become. */
template <class T>
bool right_relu(T x, T y) {
  const double value = value_of(x);
  if (std::isnan(value)) return std::isnan(value_of(y));
  return bits_of(y) == (value > 0 ? bits_of(x) : Bits<T>(0));
}

/** A NaN stays one and keeps its sign and the first bits of its payload; the quiet bit may be set. */
bool same_nan(std::uint32_t narrow, int fractionBits, std::uint32_t wide) {
  const int shift = 23 - fractionBits;
  const std::uint32_t kept = 0x80000000 | ((1u << (fractionBits - 1)) - 1) << shift;
  const std::uint32_t sign = (narrow & 0x8000) << 16, payload = (narrow & ((1u << fractionBits) - 1)) << shift;
  return ((sign | payload) & kept) == (wide & kept);
}

template <class T>
constexpr int kFractionBits = format_of<T>().digits - 1;

template <Half T>
bool right_widening(T x, float y) {
  if (std::isnan(value_of(x))) return std::isnan(y) && same_nan(x.bits, kFractionBits<T>, bits_of(y));
  return bits_of(y) == bits_of(float(value_of(x)));
}

template <Half T>
bool right_narrowing(float x, T y) {
  if (std::isnan(x)) return std::isnan(value_of(y)) && same_nan(y.bits, kFractionBits<T>, bits_of(x));
  return y.bits == stored<T>(x).bits;
}

/** Every bit pattern of 16-bit elements; of wider ones numbers of every size, and what lies at their ends. */
template <class T>
std::vector<T> patterns(Effort effort) {
  std::vector<T> all;
  if constexpr (sizeof(T) == 2) {
    for (std::uint32_t bits = 0; bits < 1 << 16; ++bits) all.push_back(T{std::uint16_t(bits)});
  } else {
    constexpr Format format = format_of<T>();
    const double ends[] = {-0.0,           0,        format.smallest, -format.smallest,
                           format.largest, INFINITY, -INFINITY,       std::nan("")};
    Random random(1);
    const int count = effort == Effort::full ? 1 << 20 : 1 << 15;
    for (int i = 0; i < count; ++i) {
      all.push_back(i % 5 == 0 ? T(ends[i / 5 % 8]) : std::bit_cast<T>(Bits<T>(random.next())));
    }
  }
  return all;
}

/** f32 numbers about every number of the 16-bit type and every middle between two of them. */
template <Half T>
std::vector<float> around_ties() {
  std::vector<float> all;
  for (std::uint32_t bits = 0; bits < 1 << 16; ++bits) {
    const double x = value_of(T{std::uint16_t(bits)}), next = value_of(T{std::uint16_t(bits + 1)});
    if (!std::isfinite(x)) continue;
    const float middle = float(std::isfinite(next) ? (x + next) / 2 : x * (1 + format_of<T>().epsilon / 4));
    for (const float y : {float(x), middle}) {
      all.push_back(std::nextafter(y, -INFINITY));
      all.push_back(y);
      all.push_back(std::nextafter(y, float(INFINITY)));
    }
  }
  return all;
}

template <class X, class Y>
class ElementwiseCheck {
 public:
  using Kernel = std::function<void(const X*, Y*, std::size_t)>;
  using Right = bool (*)(X, Y);
  ElementwiseCheck(Kernel kernel, Right right, Report& report)
      : kernel_(std::move(kernel)), right_(right), report_(report) {}

  /** Directly, out of place and where it may be in place. */
  void run(const X* values, std::size_t count) {
    const std::size_t seed = report_.cases();
    X* const x = x_.template place<X>(count, seed % 4 != 3);
    std::copy_n(values, count, x);
    Y* const y = y_.prepare(count, seed % 67);
    if (!survives([&] { kernel_(x, y, count); })) return report_.fail(text("%zu: touched memory outside", count));
    if (!y_.intact()) return report_.fail(text("%zu: wrote around the result", count));
    if (!judge(values, y, count)) return;
    if constexpr (sizeof(X) <= sizeof(Y)) {
      // relu in place; widening from the second half of the result.
      Y* const both = y_.prepare(count, seed % 67);
      X* const last = reinterpret_cast<X*>(both + count) - count;
      std::memcpy(static_cast<void*>(last), values, count * sizeof(X));
      kernel_(last, both, count);
      if (!y_.intact()) return report_.fail(text("%zu in place: wrote around the result", count));
      if (!judge(values, both, count)) return;
    }
    report_.passed(y_.data(), count);
  }

  /** Through the driver, which cuts it into pieces. */
  void run_driver(const std::vector<X>& values) {
    for (unsigned threads = 1; threads <= 3; ++threads) {
      Y* const y = y_.prepare(values.size(), threads);
      if (!elementwise(kernel_, values.size(), values.data(), y, Crew{threads})) return report_.fail("was cancelled");
      if (!y_.intact()) return report_.fail("the driver wrote around the result");
      if (!judge(values.data(), y, values.size())) return;
      report_.passed(y, values.size());
    }
  }

 private:
  bool judge(const X* x, const Y* y, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (right_(x[i], y[i])) continue;
      report_.fail(text("element %zu of %zu: %.17g (bits %llx) became %.17g (bits %llx)", i, count, value_of(x[i]),
                        static_cast<unsigned long long>(bits_of(x[i])), value_of(y[i]),
                        static_cast<unsigned long long>(bits_of(y[i]))));
      return false;
    }
    return true;
  }

  Kernel kernel_;
  Right right_;
  Report& report_;
  Fenced x_;
  Guarded<Y> y_;
};

template <class X, class Y>
void check_elements(std::function<void(const X*, Y*, std::size_t)> kernel, bool (*right)(X, Y), std::vector<X> values,
                    Report& report) {
  ElementwiseCheck<X, Y> check(std::move(kernel), right, report);
  Random random(2);
  for (std::size_t count = 0; count <= 300 && !report.failed(); ++count) {
    const std::size_t last = values.size() - count;
    check.run(values.data() + std::size_t(random.between(0, std::int64_t(last))), count);
  }
  if (report.failed()) return;
  check.run(values.data(), values.size());
  // More than one piece of the driver's.
  for (std::size_t i = 0; values.size() * sizeof(X) < (3 << 18) + 100; ++i) values.push_back(X(values[i]));
  if (!report.failed()) check.run_driver(values);
}

template <class T>
void check_relu(ReluKernel<T> kernel, Effort effort, Report& report) {
  for (const bool past : {false, true}) {
    const auto run = [=](const T* x, T* y, std::size_t n) { kernel(x, y, n, past); };
    if (!report.failed()) check_elements<T, T>(run, right_relu<T>, patterns<T>(effort), report);
  }
}

template <Half T>
void check_narrow(NarrowKernel<T> kernel, Effort effort, Report& report) {
  std::vector<float> values = patterns<float>(effort);
  const std::vector<float> ties = around_ties<T>();
  values.insert(values.end(), ties.begin(), ties.end());
  check_elements<float, T>(kernel, right_narrowing<T>, std::move(values), report);
}

template <Half T>
void check_widen(WidenKernel<T> kernel, Effort effort, Report& report) {
  check_elements<T, float>(kernel, right_widening<T>, patterns<T>(effort), report);
}

}  // namespace

void check(const ReluKernel<float>& kernel, Effort effort, Report& report) { check_relu(kernel, effort, report); }
void check(const ReluKernel<double>& kernel, Effort effort, Report& report) { check_relu(kernel, effort, report); }
void check(const ReluKernel<F16Bits>& kernel, Effort effort, Report& report) { check_relu(kernel, effort, report); }
void check(const ReluKernel<Bf16Bits>& kernel, Effort effort, Report& report) { check_relu(kernel, effort, report); }
void check(const WidenKernel<F16Bits>& kernel, Effort effort, Report& report) { check_widen(kernel, effort, report); }
void check(const WidenKernel<Bf16Bits>& kernel, Effort effort, Report& report) { check_widen(kernel, effort, report); }
void check(const NarrowKernel<F16Bits>& kernel, Effort effort, Report& report) { check_narrow(kernel, effort, report); }
void check(const NarrowKernel<Bf16Bits>& kernel, Effort effort, Report& report) {
  check_narrow(kernel, effort, report);
}

}  // namespace uhop::check
