#pragma once
#include <algorithm>

#include "../probe/caches.h"
#include "gemm.h"
#include "operands.h"

namespace uhop {

/** How one problem is cut. Speed only: the sums are the same for every plan. */
template <class T>
struct Plan {
  /** Where the kernel reads an operand: as the caller keeps it, packed ahead by the caller, packed before the tasks for
   * several of them, or packed by the one task that needs it, into a buffer that stays in its cache. */
  enum class From { place, prepacked, shared, own };

  Cut rows;
  Cut cols;
  /** B passes by once under a few rows of A. */
  bool fewRows = false;
  /** The k blocks are summed apart, side by side, and added in their order. */
  bool splitK = false;
  From a = From::own;
  From b = From::own;
  /** All of a task's B fits in the second cache, so that the rows of A go by once. */
  bool deep = false;
  /** Panels and depth between two meetings of the threads. */
  std::size_t outerRows = 0;
  std::size_t outerCols = 0;
  std::size_t depth = 0;
  /** Parts that rows and columns of an outer block are cut into; a task has one of each. */
  std::size_t rowParts = 1;
  std::size_t colParts = 1;
  /** Elements of the shared panels, and of what one thread has for itself. */
  std::size_t sharedA = 0;
  std::size_t sharedB = 0;
  std::size_t ownA = 0;
  std::size_t ownB = 0;

  Plan(const GemmVariant<T>& v, const GemmProblem<T>& p, unsigned threads);

  std::size_t own() const { return ownA + ownB; }
  std::size_t elements(unsigned threads) const { return sharedA + sharedB + threads * own(); }

 private:
  void share_out(const GemmVariant<T>& v, unsigned threads);
};

}  // namespace uhop
