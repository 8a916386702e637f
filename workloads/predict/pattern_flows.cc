#include "workloads/predict/pattern_flows.h"

#include <cmath>

#include "workloads/exchange/halving_doubling.h"
#include "workloads/exchange/hierarchical.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/recursive_doubling.h"
#include "workloads/exchange/ring.h"
#include "workloads/exchange/tree.h"
#include "workloads/predict/plan_flows.h"
#include "workloads/predict/sparse_flows.h"

namespace thinpipe {

namespace {

int group_of_spec(const Spec& pattern) {
  return static_cast<int>(
      Parameters(find_pattern(pattern.name).parameters, pattern).integer("group"));
}

// Sparse patterns have a ring beside, for dense arrays.
bool reduces_by_ring(const Spec& pattern) {
  return pattern.name == "ring" || pattern.name == "gtopk" || pattern.name == "oktopk";
}

template <class Plan, class Planner>
std::vector<Plan> of_all_ranks(int ranks, Planner planner) {
  std::vector<Plan> plans;
  for (int rank = 0; rank < ranks; ++rank) plans.push_back(planner(ranks, rank));
  return plans;
}

}  // namespace

std::optional<FlowGraph> all_reduce_flows(const Spec& pattern, std::size_t elements, int ranks) {
  check_pattern(pattern, ranks);
  const auto flows = [&](auto planner) {
    return reduce_flows(of_all_ranks<AllReducePlan>(ranks, planner), elements);
  };
  if (reduces_by_ring(pattern)) return flows(ring_all_reduce);
  if (pattern.name == "recursive-doubling") return flows(recursive_doubling_all_reduce);
  if (pattern.name == "halving-doubling") return flows(halving_doubling_all_reduce);
  if (pattern.name == "tree") return flows(tree_all_reduce);
  if (pattern.name == "qgz") return qgz_flows(pattern, elements, ranks);
  if (pattern.name != "hierarchical") return std::nullopt;
  return flows([group = group_of_spec(pattern)](int n, int rank) {
    return hierarchical_all_reduce(n, rank, group);
  });
}

std::optional<FlowGraph> all_gather_flows(const Spec& pattern, std::span<const std::size_t> sizes) {
  const int ranks = static_cast<int>(sizes.size());
  check_pattern(pattern, ranks);
  const auto flows = [&](auto planner) {
    return gather_flows(of_all_ranks<AllGatherPlan>(ranks, planner), sizes);
  };
  if (pattern.name == "ring") return flows(ring_all_gather);
  if (pattern.name == "recursive-doubling" || pattern.name == "halving-doubling")
    return flows(recursive_doubling_all_gather);
  if (pattern.name == "tree") return flows(tree_all_gather);
  if (pattern.name != "hierarchical") return std::nullopt;
  return flows([group = group_of_spec(pattern)](int n, int rank) {
    return hierarchical_all_gather(n, rank, group);
  });
}

double least_messages(const Spec& pattern, int ranks) {
  const double n = ranks;
  if (pattern.name == "tree") return 2 * (n - 1);
  if (pattern.name == "recursive-doubling") {
    const FoldedRanks fold(ranks, 0);
    double steps = 0;
    for (int folded = fold.folded; folded > 1; folded /= 2) ++steps;
    return fold.folded * steps + 2.0 * fold.extra;
  }
  if (pattern.name == "hierarchical") {
    const RankGroups groups(ranks, group_of_spec(pattern));
    return 2 * n * groups.groups * groups.group;
  }
  if (pattern.name == "qgz") {  // Bruck's steps, and all others of its group and its ring of groups
    const double group = group_of_spec(pattern);
    return n * (group - 1 + n / group - 1 + std::ceil(std::log2(n)));
  }
  if (pattern.name == "halving-doubling" || reduces_by_ring(pattern)) return 2 * n * (n - 1);
  return 0;
}

}  // namespace thinpipe
