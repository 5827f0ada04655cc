#pragma once
#include <iterator>
#include <vector>

#include "report.h"

namespace uhop::check {

struct Triple {
  std::size_t x;
  std::size_t y;
  std::size_t z;
};

/**
 * Three extents. What lies at the edges of vectors and tiles meets in every pair, once: a Latin square. The full one
 * also has all of 1…67 in each place, each a dozen times and more, thinned evenly from the Latin square of those.
 */
inline std::vector<Triple> covering(Effort effort) {
  std::vector<Triple> triples;
  const std::size_t edges[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 25, 31, 33, 47, 48, 49, 67};
  constexpr std::size_t count = std::size(edges), most = 67;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) triples.push_back({edges[i], edges[j], edges[(i + j) % count]});
  }
  if (effort == Effort::brief) return triples;
  for (std::size_t i = 0; i < most; ++i) {
    for (std::size_t j = i % 5; j < most; j += 5) triples.push_back({i + 1, j + 1, (i + j) % most + 1});
  }
  return triples;
}

}  // namespace uhop::check
