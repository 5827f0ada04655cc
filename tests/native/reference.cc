#include "reference.h"

#include <cstdarg>
#include <cstdio>

#include "report.h"

namespace uhop::check {

std::string text(const char* format, ...) {
  char buffer[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(buffer, sizeof(buffer), format, args);
  va_end(args);
  return buffer;
}

template <class T>
std::string first_wrong(const T* got, const Expected& expected, const Verdict& verdict) {
  const Tolerance<T> tolerance(verdict.terms);
  for (std::size_t i = 0; i < expected.value.size(); ++i) {
    const double y = value_of(got[i]), value = expected.value[i];
    const bool right = verdict.exact ? y == value_of(stored<T>(value))
                                     : tolerance.allows(got[i], value, expected.rest[i], expected.scale[i]);
    const bool negativeZero = verdict.relu && y == 0 && std::signbit(y);
    if (right && !negativeZero) continue;
    const char* how = verdict.exact ? "exactly " : "";
    return text("element %zu of %zu: got %.17g, expected %s%.17g", i, expected.value.size(), y, how, value);
  }
  return {};
}

template std::string first_wrong(const float*, const Expected&, const Verdict&);
template std::string first_wrong(const double*, const Expected&, const Verdict&);
template std::string first_wrong(const F16Bits*, const Expected&, const Verdict&);
template std::string first_wrong(const Bf16Bits*, const Expected&, const Verdict&);

}  // namespace uhop::check
