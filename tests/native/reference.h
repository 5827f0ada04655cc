#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "numbers.h"

// What a sum of products should be, and how far from it a kernel may be.

namespace uhop::check {

/** Σ l·r in f64, and Σ |l·r|. */
template <class T>
class Dot {
 public:
  void add(double l, double r) {
    value_ += l * r;
    scale_ += std::fabs(l * r);
  }
  double value() const { return value_; }
  /** What value() leaves out. */
  double rest() const { return 0; }
  double scale() const { return scale_; }

 private:
  double value_ = 0;
  double scale_ = 0;
};

/** As if in twice the precision of f64: Ogita, Rump, Oishi, "Accurate Sum and Dot Product" (2005), Dot2. */
template <>
class Dot<double> {
 public:
  void add(double l, double r) {
    const double product = l * r, sum = value_ + product;
    if (std::isfinite(sum)) {
      const double part = sum - value_;
      lost_ += value_ - (sum - part) + (product - part) + std::fma(l, r, -product);
    }
    value_ = sum;
    scale_ += std::fabs(product);
  }
  double value() const { return std::isfinite(value_) ? value_ + lost_ : value_; }
  double rest() const {
    const double sum = value(), part = sum - value_;
    return std::isfinite(sum) ? value_ - (sum - part) + (lost_ - part) : 0;
  }
  double scale() const { return scale_; }

 private:
  double value_ = 0;
  double lost_ = 0;
  double scale_ = 0;
};

/** What every element of a result should be before it is stored, and the sum of the magnitudes that went into it. */
struct Expected {
  std::vector<double> value;
  /** What was lost when the value was rounded to f64, where that matters. */
  std::vector<double> rest;
  std::vector<double> scale;

  template <class T>
  void push(Dot<T> dot, const T* bias, bool relu) {
    if (bias != nullptr) dot.add(value_of(*bias), 1);
    const bool zero = relu && dot.value() <= 0;
    value.push_back(zero ? 0 : dot.value());
    rest.push_back(zero ? 0 : dot.rest());
    scale.push_back(dot.scale());
  }
};

/** As in lib/ops/tolerance.ts: Higham's gamma of so many terms and a bias, and one more rounding of 16-bit elements. */
template <class T>
class Tolerance {
 public:
  explicit Tolerance(std::size_t terms) {
    constexpr Format summed = format_of<Sum<T>>();
    const double operations = double(terms) + 1;
    const double roundoff = operations * summed.epsilon / 2, gamma = roundoff / (1 - roundoff);
    const double store = Half<T> ? kStored.epsilon / 2 : 0;
    relative_ = gamma + store * (1 + gamma);
    floor_ = (operations * summed.smallest + (Half<T> ? kStored.smallest : 0)) / 2;
  }

  bool allows(T got, double value, double rest, double scale) const {
    const double y = value_of(got);
    if (std::isnan(value)) return std::isnan(y);
    if (y == value || std::isinf(value)) return y == value;
    const double bound = relative_ * scale + floor_;
    if (std::isfinite(y)) return std::fabs(y - value - rest) <= bound;
    // Rounding up from half an ulp beyond the largest number is an infinity.
    return !std::isnan(y) && std::signbit(y) == std::signbit(value) &&
           std::fabs(value) + bound >= kStored.largest * (1 + kStored.epsilon / 4);
  }

 private:
  static constexpr Format kStored = format_of<T>();
  double relative_;
  double floor_;
};

/** How the results of one case are judged. */
struct Verdict {
  std::size_t terms;
  bool exact;
  bool relu;
};

/** The first wrong element in words; empty when all are right. */
template <class T>
std::string first_wrong(const T* got, const Expected& expected, const Verdict& verdict);

}  // namespace uhop::check
