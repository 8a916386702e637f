// A binomial tree with rank 0 at its root.
#pragma once

#include <vector>

#include "workloads/exchange/all_gather_flow.h"
#include "workloads/exchange/all_reduce_plan.h"

namespace thinpipe {

/// A rank's place: its parent has the rank's lowest set bit cleared, its children have one of the
/// bits below it set.
struct BinomialTree {
  BinomialTree(int ranks, int rank);
  int parent;                 ///< -1 for the root
  std::vector<int> children;  ///< the one with the fewest ranks below it first
  int size;                   ///< ranks from this one on that are in its subtree, itself included
};

/// Sums go up to the root, the result comes down. Of a long array both are under way at a time: the
/// root receives and sends ceil(log2 n) * 4d bytes, which is what the whole takes.
AllReducePlan tree_all_reduce(int ranks, int rank);

/// Messages go up to the root, and down to every subtree that lacks them.
AllGatherPlan tree_all_gather(int ranks, int rank);

}  // namespace thinpipe
