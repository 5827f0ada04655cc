#include "caches.h"

#include <unistd.h>

namespace uhop {

std::size_t second_cache() {
  constexpr std::size_t common = 1 << 20;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  static const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? std::size_t(bytes) : common;
#else
  return common;
#endif
}

}  // namespace uhop
