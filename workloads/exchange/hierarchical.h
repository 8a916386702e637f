// Two levels: groups of consecutive ranks, and rings of one rank from each group.
#pragma once

#include "workloads/exchange/all_gather_flow.h"
#include "workloads/exchange/all_reduce_plan.h"

namespace thinpipe {

/// Groups of g consecutive ranks; the last may be smaller. There are g rings through all groups: in
/// a whole group each member is on one, in a smaller one a member is on several that follow each
/// other.
struct RankGroups {
  /// @param most  g; of fewer ranks there is one group
  RankGroups(int ranks, int most);
  int ranks, group;  ///< n, and g as it came out
  int groups;        ///< G
  /// All groups are of the same size.
  bool whole() const { return groups * group == ranks; }
  int size(int of) const;             ///< ranks of a group
  int owner(int of, int ring) const;  ///< the rank of a group that is on a ring
  int first_ring(int rank) const;     ///< that the rank is on
  int last_ring(int rank) const;      ///< one past its last
  /// The rank whose message goes round a ring from a group; -1 where it is on an earlier one.
  int message_on(int of, int ring) const;
  int group_of(int rank) const { return rank / group; }
};

/// Reduce-scatter on a ring in each group, all-reduce of each member's share on the rings through
/// the groups, all-gather in each group. As a whole n is a multiple of g, every rank sends and
/// receives 2(n-1)/n * 4d bytes, as in one ring, and every group 2(G-1)/G * 4d across its edge,
/// which is the least there can be. With a leader that reduces, exchanges and broadcasts for its
/// group as much crosses the edge, but the leader's link carries g times as much as any other's.
AllReducePlan hierarchical_all_reduce(int ranks, int rank, int group);

/// Messages go round the rings through the groups, and each member passes round its group what it
/// had from there: every message enters every other group once.
AllGatherPlan hierarchical_all_gather(int ranks, int rank, int group);

}  // namespace thinpipe
