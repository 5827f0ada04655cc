#pragma once
#include <cstddef>

namespace uhop {

/** Bytes of one core's second data cache; a common size where the system does not tell. */
std::size_t second_cache();

}  // namespace uhop
