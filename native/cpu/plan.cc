#include "plan.h"

namespace uhop {

namespace {

constexpr std::size_t kPackedBytesA = 8 << 20;
constexpr std::size_t kPackedBytesB = 16 << 20;
constexpr std::size_t kMostColumns = 8192;
/** A B of this size stays in the second cache as it is. */
constexpr std::size_t kSmallB = 128 << 10;
/** Sums that stay in the first cache while B passes by. */
constexpr std::size_t kSumBytes = 16 << 10;
/** Panels of B up to which an A whose k are far apart is not worth packing. */
constexpr std::size_t kFewPanels = 2;
/** Rows of a task below which its B is used too little. */
constexpr std::size_t kTaskRows = 64;
constexpr std::size_t kTasksPerThread = 4;

}  // namespace

template <class T>
Plan<T>::Plan(const GemmVariant<T>& v, const GemmProblem<T>& p, unsigned threads)
    : rows(rows_of(v, p.M)), cols(columns_of(v, p.N)), outerRows(rows.count()), outerCols(cols.count()), depth(p.K) {
  const Strided<T> placeA = p.a->in_place(), placeB = p.b->in_place();
  const bool rowsOfB = placeB.data != nullptr && placeB.strideI == 1;
  const bool largeB = p.K * p.N * sizeof(T) > kSmallB;

  const bool few = p.M <= kFewRows;
  if (placeA.data != nullptr && (placeA.strideK == 1 || few || cols.count() <= kFewPanels)) a = From::place;
  if (p.b->prepacked() != nullptr) {
    b = From::prepacked;
  } else if (rowsOfB && (!largeB || (few && a == From::place))) {
    b = From::place;
  }
  fewRows = b == From::place && largeB;
  splitK = threads > 1 && p.K > v.KC && rows.count() * cols.count() < 2 * threads;
  if (splitK) return;

  if (fewRows) {
    const std::size_t most = std::max<std::size_t>(kSumBytes / (p.M * sizeof(T)) / v.NR, 1);
    colParts = std::max(parts(cols.count(), most), std::min<std::size_t>(cols.count(), threads > 1 ? 2 * threads : 1));
    ownB = p.M * round_up(cols.most_lanes(parts(cols.count(), colParts)), kMostLanes);
    return;
  }

  outerCols = std::min(cols.count(), kMostColumns / v.NR);
  share_out(v, threads);
  if (a == From::own && colParts > 1) a = From::shared;
  if (b == From::own && rowParts > 1) b = From::shared;
  const auto blocks = [&](std::size_t bytes, std::size_t lanes) {
    return std::min(std::max<std::size_t>(bytes / (lanes * v.KC * sizeof(T)), 1) * v.KC, p.K);
  };
  if (b == From::shared) depth = blocks(kPackedBytesB, cols.most_lanes(outerCols));
  if (a == From::shared) {
    if (b != From::shared) depth = std::min(p.K, 4 * v.KC);
    outerRows = std::min(
        rows.count(), std::max<std::size_t>(kPackedBytesA / (std::max<std::size_t>(depth, 1) * sizeof(T)) / v.MR, 1));
  }
  const std::size_t perTask = cols.most_lanes(parts(outerCols, colParts));
  deep = depth == p.K && perTask * p.K * sizeof(T) <= second_cache() / 2;
  const std::size_t kc = std::min(v.KC, p.K);
  if (a == From::shared) sharedA = outerRows * v.MR * depth;
  if (a == From::own) ownA = v.MR * kc;
  if (b == From::shared) sharedB = cols.most_lanes(outerCols) * depth;
  if (b == From::own) ownB = perTask * (deep ? p.K : kc);
}

/** Cuts an outer block until every thread has several tasks: first by rows, which share a B. */
template <class T>
void Plan<T>::share_out(const GemmVariant<T>& v, unsigned threads) {
  // A task's panels of B fill about half of the second cache and are used again for each of its rows.
  const std::size_t most = std::max<std::size_t>(second_cache() * 45 / 100 / (v.KC * v.NR * sizeof(T)), 1);
  colParts = parts(outerCols, most);
  while (threads > 1 && rowParts * colParts < kTasksPerThread * threads) {
    if (outerRows * v.MR >= 2 * rowParts * kTaskRows) {
      rowParts *= 2;
    } else if (outerCols >= 2 * colParts) {
      colParts *= 2;
    } else if (outerRows >= 2 * rowParts) {
      rowParts *= 2;
    } else {
      break;
    }
  }
}

template struct Plan<float>;
template struct Plan<double>;

}  // namespace uhop
