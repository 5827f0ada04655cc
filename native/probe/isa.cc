#include "isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace uhop {

#if defined(__x86_64__)

namespace {

// Intel SDM vol. 2, CPUID leaves 1 and 7; vol. 1 §13.3 for XCR0.
struct Features {
  bool avx2 = false;
  bool avx512 = false;

  Features() {
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return;
    const bool osxsave = c >> 27 & 1;
    const bool avx = c >> 28 & 1;
    const bool fma = c >> 12 & 1;
    const bool f16c = c >> 29 & 1;
    if (!osxsave || !avx || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
    unsigned low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    const bool savesYmm = (low & 0x06) == 0x06;
    const bool savesZmm = (low & 0xe6) == 0xe6;
    const auto has = [b](int bit) { return (b >> bit & 1) != 0; };
    avx2 = savesYmm && fma && f16c && has(5);
    avx512 = avx2 && savesZmm && has(16) && has(17) && has(30) && has(31);  // F, DQ, BW, VL
  }
};

}  // namespace

bool runs_here(Isa isa) {
  static const Features features;
  switch (isa) {
    case Isa::avx512:
      return features.avx512;
    case Isa::avx2:
      return features.avx2;
    case Isa::baseline:
      return true;
    default:
      return false;
  }
}

#elif defined(__aarch64__)

bool runs_here(Isa isa) { return isa == Isa::baseline || isa == Isa::neon; }

#else

bool runs_here(Isa isa) { return isa == Isa::baseline; }

#endif

}  // namespace uhop
