#pragma once
#include "numbers.h"

// Operands that bring out what a kernel may get wrong.

namespace uhop::check {

enum class Kind {
  random,      // either sign, magnitudes over six powers of two
  integers,    // small
  exact,       // integers whose sums reach the largest that the sum's type counts to
  cancelling,  // about ±1, so that sums of many leave little
  huge,        // sums just below the largest number
  overflow,    // every product beyond it, all positive
  subnormal,   // small integers times the smallest number
  special,     // NaN, infinities and zeros of either sign here and there
};
constexpr int kKinds = 8;

enum class Role { left, right, bias };

const char* name_of(Kind kind);

/** Whether every sum of this kind is a number of its type, so that the one right result is that, rounded on storing. */
constexpr bool is_exact(Kind kind) { return kind == Kind::integers || kind == Kind::exact || kind == Kind::subnormal; }

/** For sums of `terms` products. */
template <class T>
void fill(T* x, std::size_t count, Kind kind, Role role, std::size_t terms, Random& random);

}  // namespace uhop::check
