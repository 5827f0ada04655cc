#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

#include "../../native/cpu/variants.h"

// The element types as numbers, from their definitions and in no way that a kernel works.

namespace uhop::check {

/** As FORMATS in lib/ops/tolerance.ts: distance from 1 to the next number, smallest and largest, and digits of a one.
 */
struct Format {
  double epsilon;
  double smallest;
  double largest;
  int digits;
};

template <class T>
constexpr Format format_of() {
  if constexpr (std::is_same_v<T, float>) return {0x1p-23, 0x1p-149, 0x1.fffffep127, 24};
  if constexpr (std::is_same_v<T, double>) return {0x1p-52, 0x1p-1074, 0x1.fffffffffffffp1023, 53};
  if constexpr (std::is_same_v<T, F16Bits>) return {0x1p-10, 0x1p-24, 65504, 11};
  if constexpr (std::is_same_v<T, Bf16Bits>) return {0x1p-7, 0x1p-133, 0x1.fep127, 8};
}

template <class T>
using Bits =
    std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;

template <class T>
Bits<T> bits_of(T x) {
  return std::bit_cast<Bits<T>>(x);
}

inline double value_of(float x) { return x; }
inline double value_of(double x) { return x; }
double value_of(F16Bits x);
double value_of(Bf16Bits x);

/** The nearest number of the type, of two the one with an even last bit; beyond the largest an infinity. */
template <class T>
T stored(double x);

/** A NaN that no arithmetic makes: what buffers hold before a kernel runs, and around what it may touch. */
template <class T>
T untouched() {
  return std::bit_cast<T>(Bits<T>(~Bits<T>(0) - 0x2a));
}

/** Reproducible on every machine: SplitMix64 (Steele, Lea, Flood 2014). */
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /** Even over [0, 1). */
  double unit() { return double(next() >> 11) * 0x1p-53; }
  /** Even over from…to, both included. */
  std::int64_t between(std::int64_t from, std::int64_t to) {
    return from + std::int64_t(next() % std::uint64_t(to - from + 1));
  }
  bool one_in(std::uint64_t n) { return next() % n == 0; }

 private:
  std::uint64_t state_;
};

}  // namespace uhop::check
