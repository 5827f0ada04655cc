#include "numbers.h"

#include <cmath>
#include <vector>

namespace uhop::check {

namespace {

/** A 16-bit float of so many digits whose smallest normal number is 2^least. */
struct Small {
  int digits;
  int least;

  double decode(std::uint16_t bits) const {
    const int fractionBits = digits - 1;
    const int exponent = (bits & 0x7fff) >> fractionBits, fraction = bits & ((1 << fractionBits) - 1);
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (0x7fff >> fractionBits)) return fraction != 0 ? std::nan("") : sign * INFINITY;
    const int units = exponent == 0 ? fraction : fraction + (1 << fractionBits);
    return sign * std::ldexp(units, least - fractionBits + (exponent == 0 ? 0 : exponent - 1));
  }

  std::uint16_t encode(double x) const {
    const int fractionBits = digits - 1;
    const std::uint16_t sign = std::signbit(x) ? 0x8000 : 0;
    const std::uint16_t infinity = std::uint16_t(0x7fff >> fractionBits << fractionBits);
    if (std::isnan(x)) return std::uint16_t(sign | infinity | (1 << (fractionBits - 1)));
    if (std::isinf(x)) return sign | infinity;
    const double size = std::fabs(x);
    if (size == 0) return sign;
    const int exponent = std::max(std::ilogb(size), least);
    if (exponent > -least + 1) return sign | infinity;
    // Scaling by a power of two is exact, so this rounds once. A carry runs into the exponent, where it belongs.
    const double units = std::nearbyint(std::ldexp(size, fractionBits - exponent));
    const int bits = ((exponent - least) << fractionBits) + int(units);
    return std::uint16_t(sign | std::min<int>(bits, infinity));
  }

  std::vector<double> table() const {
    std::vector<double> values(1 << 16);
    for (int bits = 0; bits < 1 << 16; ++bits) values[std::size_t(bits)] = decode(std::uint16_t(bits));
    return values;
  }
};

constexpr Small kF16{11, -14};
constexpr Small kBf16{8, -126};

}  // namespace

double value_of(F16Bits x) {
  static const std::vector<double> values = kF16.table();
  return values[x.bits];
}

double value_of(Bf16Bits x) {
  static const std::vector<double> values = kBf16.table();
  return values[x.bits];
}

template <>
float stored(double x) {
  return float(x);
}
template <>
double stored(double x) {
  return x;
}
template <>
F16Bits stored(double x) {
  return {kF16.encode(x)};
}
template <>
Bf16Bits stored(double x) {
  return {kBf16.encode(x)};
}

std::uint64_t Random::next() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace uhop::check
