#pragma once
#include <cmath>
#include <cstdint>
#include <string>

#include "numbers.h"

namespace uhop::check {

/** How much of the coverings is run: all of it, or what an emulator or a sanitizer has time for. */
enum class Effort { full, brief };

/** What became of one kernel. A check stops at its first failure. */
class Report {
 public:
  std::size_t cases() const { return cases_; }
  /** The bits of every result in one number; NaNs count as one, since which of them comes out is not promised. */
  std::uint64_t digest() const { return digest_; }
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }

  void fail(std::string what) {
    if (!failed()) failure_ = std::move(what);
  }

  template <class T>
  void passed(const T* results, std::size_t count) {
    ++cases_;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = std::isnan(value_of(results[i])) ? ~std::uint64_t(0) : bits_of(results[i]);
      digest_ = (digest_ ^ bits) * 0x100000001b3;
    }
  }

 private:
  std::size_t cases_ = 0;
  std::uint64_t digest_ = 0xcbf29ce484222325;
  std::string failure_;
};

/** printf into a string. */
__attribute__((format(printf, 1, 2))) std::string text(const char* format, ...);

}  // namespace uhop::check
