#pragma once
#include <cstddef>

namespace uhop {

/** Data cache sizes in bytes, per core for L1 and L2, whole for L3; a common size where the system does not tell. */
struct Caches {
  std::size_t l1;
  std::size_t l2;
  std::size_t l3;
};

const Caches& caches();

}  // namespace uhop
