#include "caches.h"

#include <unistd.h>

namespace uhop {

namespace {

std::size_t size_or(int name, std::size_t common) {
  const long bytes = name < 0 ? 0 : sysconf(name);
  return bytes > 0 ? std::size_t(bytes) : common;
}

}  // namespace

const Caches& caches() {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  constexpr int l1 = _SC_LEVEL1_DCACHE_SIZE, l2 = _SC_LEVEL2_CACHE_SIZE, l3 = _SC_LEVEL3_CACHE_SIZE;
#else
  constexpr int l1 = -1, l2 = -1, l3 = -1;
#endif
  static const Caches sizes{size_or(l1, 32 << 10), size_or(l2, 1 << 20), size_or(l3, 8 << 20)};
  return sizes;
}

}  // namespace uhop
