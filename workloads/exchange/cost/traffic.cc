#include "workloads/exchange/cost/traffic.h"

#include <bit>

#include "base/error.h"
#include "workloads/exchange/cost/forms.h"
#include "workloads/exchange/hierarchical.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/sparse_patterns.h"

namespace thinpipe {

namespace {

Parameters parameters_of(const Spec& pattern) {
  return {find_pattern(pattern.name).parameters, pattern};
}

int group_in(const Spec& pattern) {
  return static_cast<int>(parameters_of(pattern).integer("group"));
}

// Sparse patterns have one beside, for dense arrays.
bool has_ring(const Spec& pattern) {
  return pattern.name == "ring" || pattern.name == "gtopk" || pattern.name == "oktopk";
}

[[noreturn]] void no_closed_form(const Spec& pattern) {
  check_pattern(pattern);
  throw InputError("what pattern '" + pattern.to_string() + "' sends has no closed form here");
}

int floor_log2(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
}

int ceil_log2(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

// Ranks beyond a power of two are folded in before, and out after.
int fold_steps(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)) ? 0 : 2; }

}  // namespace

Traffic all_reduce_traffic(const Spec& pattern, const SummedArray& array, int ranks, int rank) {
  check_pattern(pattern);
  if (has_ring(pattern)) return ring_reduce_traffic(array, ranks, rank);
  if (pattern.name == "recursive-doubling") return doubling_reduce_traffic(array, ranks, rank);
  if (pattern.name == "halving-doubling") return halving_reduce_traffic(array, ranks, rank);
  if (pattern.name == "tree") return tree_reduce_traffic(array, ranks, rank);
  if (pattern.name == "hierarchical")
    return hierarchical_reduce_traffic(array, ranks, rank, group_in(pattern));
  if (pattern.name == "qgz" && array.type == ElementType::kFloat32)
    return qgz_reduce_traffic(array.elements, qgz_options(parameters_of(pattern)), ranks, rank);
  no_closed_form(pattern);
}

Traffic all_gather_traffic(const Spec& pattern, std::span<const std::size_t> sizes, int rank) {
  check_pattern(pattern);
  const MessageVolume messages(sizes);
  if (messages.ranks() == 1) return {};
  if (pattern.name == "ring") return ring_gather_traffic(messages, rank);
  if (pattern.name == "recursive-doubling" || pattern.name == "halving-doubling")
    return doubling_gather_traffic(messages, rank);
  if (pattern.name == "tree") return tree_gather_traffic(messages, rank);
  if (pattern.name == "hierarchical")
    return hierarchical_gather_traffic(messages, rank, group_in(pattern));
  no_closed_form(pattern);
}

int all_reduce_steps(const Spec& pattern, int ranks) {
  if (has_ring(pattern)) return 2 * (ranks - 1);
  if (pattern.name == "recursive-doubling") return floor_log2(ranks) + fold_steps(ranks);
  if (pattern.name == "halving-doubling") return 2 * floor_log2(ranks) + fold_steps(ranks);
  if (pattern.name == "tree") return 2 * floor_log2(ranks);
  if (pattern.name == "hierarchical") {
    const RankGroups groups(ranks, group_in(pattern));
    return 2 * (groups.group - 1) + 2 * (groups.groups - 1);
  }
  if (pattern.name == "qgz") {
    const int group = group_in(pattern), groups = ranks / group;
    return (group > 1 ? 1 : 0) + (groups > 1 ? 1 : 0) + ceil_log2(ranks);
  }
  no_closed_form(pattern);
}

int all_gather_steps(const Spec& pattern, int ranks) {
  if (pattern.name == "ring") return ranks - 1;
  if (pattern.name == "recursive-doubling" || pattern.name == "halving-doubling")
    return ceil_log2(ranks);
  if (pattern.name == "tree") return 2 * floor_log2(ranks);
  if (pattern.name == "hierarchical") {
    const RankGroups groups(ranks, group_in(pattern));
    return groups.group - 1 + groups.groups - 1;
  }
  no_closed_form(pattern);
}

}  // namespace thinpipe
