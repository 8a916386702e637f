// Rings: every rank sends to the next and receives from the one before.
#pragma once

#include "workloads/exchange/all_gather_flow.h"
#include "workloads/exchange/all_reduce_plan.h"

namespace thinpipe {

/// Reduce-scatter, then all-gather: 2(n-1) steps of d/n elements each (the ring of Variance-based
/// Gradient Compression, section 5). Every rank sends and receives 2(n-1)/n * 4d bytes, both
/// directions always busy.
AllReducePlan ring_all_reduce(int ranks, int rank);

/// The pipelined ring all-gather-v of the same section: at most (sum of n_i + (p-1) m) beta.
AllGatherPlan ring_all_gather(int ranks, int rank);

}  // namespace thinpipe
