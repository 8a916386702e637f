// Recursive halving and doubling: the fewest steps that send no more bytes than a ring.
#pragma once

#include "workloads/exchange/all_reduce_plan.h"

namespace thinpipe {

/// Reduce-scatter by halves, at distances n'/2, ..., 2, 1, then all-gather at distances 1, 2, ...:
/// 2 log2 n' steps (Rabenseifner 2004). Every rank sends and receives 2(n'-1)/n' * 4d bytes, and
/// those that take in a rank beyond the power of two n' (FoldedRanks) 4d more.
AllReducePlan halving_doubling_all_reduce(int ranks, int rank);

}  // namespace thinpipe
