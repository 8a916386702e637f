// What each rank sends and receives in a sparse all-reduce: bounds, since the data decide.
#pragma once

#include <cstddef>

#include "compressors/spec.h"
#include "workloads/exchange/cost/traffic.h"

namespace thinpipe {

/// What is known beforehand.
struct SparseSizes {
  std::size_t own = 0;       ///< pairs that every rank brings
  std::size_t k = 0;         ///< as sparse_all_reduce() is given it
  std::size_t selected = 0;  ///< pairs of the result; of gtopk min(k, those that there are)
};

struct SparseTraffic {
  Traffic least;
  /// If indices and what is selected of them spread evenly over ranks: what balancing aims at.
  /// gtopk: where vectors have no index in common.
  Traffic even;
  Traffic most;
};

/// Of one call. Those of oktopk that find regions or a threshold anew send more (below).
/// @throws InputError for a pattern that is unknown or has no sparse all-reduce.
SparseTraffic sparse_all_reduce_traffic(const Spec& pattern, const SparseSizes& sizes, int ranks,
                                        int rank);

/// What oktopk sends beside that in the calls in which it finds new regions; and, at most, in those
/// in which it finds a new threshold.
Traffic oktopk_regions_traffic(int ranks, int rank);
Traffic oktopk_threshold_traffic(const SparseSizes& sizes, int ranks, int rank);

/// What Pattern::mean_count() sends: before a sum of elements whose number each rank knows of its
/// own only.
Traffic mean_count_traffic(int ranks, int rank);

/// Messages that follow each other, where each is one segment; without balancing.
/// @throws InputError as above.
int sparse_all_reduce_steps(const Spec& pattern, int ranks);

}  // namespace thinpipe
