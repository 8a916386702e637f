// The patterns that are plans: what each rank sends and receives in an all-reduce and in an
// all-gather, in which order, and how much that is (docs/patterns.md derives the closed forms).
#pragma once

#include <functional>
#include <vector>

#include "workloads/exchange/traffic.h"

namespace thinpipe {

/// One range of parts that goes to a peer or comes from one.
struct AllReduceStep {
  enum class Kind {
    kSend,     ///< this rank's array as all steps before have left it
    kAdd,      ///< what comes is added
    kReplace,  ///< what comes is a sum over all ranks, and takes the place of what was there
  };
  Kind kind = Kind::kSend;
  int peer = 0;
  int first = 0, last = 1;  ///< parts [first, last)
  /// Of kAdd: it makes the sum over all ranks complete, so that it is multiplied by the factor.
  bool completes = false;
  int tag = 0;  ///< steps of one tag between two ranks keep their order
  /// Of kSend: it is not sent far ahead of what comes with the same tag, of which there is as much
  /// to the float or two. Where several ranks send to one, its link then carries them abreast, and
  /// nobody's queue overflows with what is not needed yet.
  bool paced = false;
};

using StepKind = AllReduceStep::Kind;

/// All of a rank's steps, as if one was done after the other: AllReduceFlow does as many as it can
/// at a time, with the same result. The same number of parts on every rank; what one sends in the
/// i-th step to a peer with a tag the peer receives in its i-th step from it.
struct AllReducePlan {
  int parts = 1;
  std::vector<AllReduceStep> steps = {};
  /// The same sum is made on several ranks, each adding the other's to its own. Sums do not depend
  /// on the order of two; which NaN comes out does, so there they become one and the same.
  bool mirrored = false;
};

/// The plan of one of so many ranks.
using AllReducePlanner = std::function<AllReducePlan(int ranks, int rank)>;

/// Whole messages, named by the rank they are of, that one after the other go to a peer or come
/// from one. Between two ranks channels of one direction have different tags.
struct GatherChannel {
  bool out = false;
  int peer = 0;
  std::vector<int> messages = {};
  int tag = 0;
};

/// Every other rank's message comes in once; what goes out is the own one or came in.
using AllGatherPlan = std::vector<GatherChannel>;
using AllGatherPlanner = std::function<AllGatherPlan(int ranks, int rank)>;

// Ring: every rank sends to the next and receives from the one before (ring.cc).

/// Reduce-scatter, then all-gather: 2(n-1) steps of d/n elements each (the ring of Variance-based
/// Gradient Compression, section 5). Every rank sends and receives 2(n-1)/n * 4d bytes, both
/// directions always busy.
AllReducePlan ring_all_reduce(int ranks, int rank);

/// The pipelined ring all-gather-v of the same section: at most (sum of n_i + (p-1) m) beta.
AllGatherPlan ring_all_gather(int ranks, int rank);
Traffic ring_reduce_traffic(const SummedArray& array, int ranks, int rank);
Traffic ring_gather_traffic(const MessageVolume& messages, int rank);

// Recursive doubling: partners at distances 1, 2, 4, ... (recursive_doubling.cc).

/// Ranks folded to a power of two: of the first 2 (n - n'), n' = 2^floor(log2 n), the even ones
/// hand theirs to the next rank and get the result from it in the end (Rabenseifner 2004, as in
/// MPICH).
struct FoldedRanks {
  FoldedRanks(int ranks, int rank);
  int folded;       ///< n'
  int extra;        ///< n - n'
  bool hands_over;  ///< this rank is one of those that take no part in between
  int partner;      ///< to whom or for whom this rank hands over; -1: nobody
  int id;           ///< among those that take part; -1 where this one hands over
  /// The rank that takes part as `id`.
  int rank_of(int id) const;
};

/// Steps k = 0 to log2 n' - 1: ranks 2^k apart exchange all they have and add it. The fewest steps;
/// every rank sends and receives log2 n' * 4d bytes.
AllReducePlan recursive_doubling_all_reduce(int ranks, int rank);

/// Bruck's algorithm (Bruck et al. 1997): in step k a rank sends the min(2^k, n - 2^k) messages
/// from its own on to the rank 2^k before it. Any number of ranks, ceil(log2 n) steps, no message
/// twice.
AllGatherPlan recursive_doubling_all_gather(int ranks, int rank);

/// The fewest steps that send no more bytes than a ring: reduce-scatter by halves, at distances
/// n'/2, ..., 2, 1, then all-gather at distances 1, 2, ...: 2 log2 n' steps (Rabenseifner 2004).
/// Every rank sends and receives 2(n'-1)/n' * 4d bytes, and those that take in a rank beyond the
/// power of two n' (FoldedRanks) 4d more.
AllReducePlan halving_doubling_all_reduce(int ranks, int rank);
Traffic doubling_reduce_traffic(const SummedArray& array, int ranks, int rank);
Traffic halving_reduce_traffic(const SummedArray& array, int ranks, int rank);
Traffic doubling_gather_traffic(const MessageVolume& messages, int rank);

// A binomial tree with rank 0 at its root (tree.cc).

/// Sums go up to the root, the result comes down. Of a long array both are under way at a time: the
/// root receives and sends ceil(log2 n) * 4d bytes, which is what the whole takes.
AllReducePlan tree_all_reduce(int ranks, int rank);

/// Messages go up to the root, and down to every subtree that lacks them.
AllGatherPlan tree_all_gather(int ranks, int rank);
Traffic tree_reduce_traffic(const SummedArray& array, int ranks, int rank);
Traffic tree_gather_traffic(const MessageVolume& messages, int rank);

// Two levels: groups of consecutive ranks, and rings of one rank from each group
// (hierarchical.cc).

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
Traffic hierarchical_reduce_traffic(const SummedArray& array, int ranks, int rank, int group);
Traffic hierarchical_gather_traffic(const MessageVolume& messages, int rank, int group);

}  // namespace thinpipe
