// Plans: what each rank sends and receives in an all-reduce and in an all-gather, and in which
// order.
#pragma once

#include <functional>
#include <vector>

#include "workloads/collectives/traffic.h"

namespace thinpipe {

/// One range of slices that is sent to a peer or received from one.
struct AllReduceStep {
  enum class Kind {
    kSend,     ///< sends this rank's array as all earlier steps have left it
    kAdd,      ///< adds the received slices
    kReplace,  ///< stores the received slices, which are sums over all ranks
  };
  Kind kind = Kind::kSend;
  int peer = 0;
  int first = 0, last = 1;  ///< slices [first, last)
  /// kAdd only: the step completes the sum over all ranks, which is then multiplied by the factor.
  bool completes = false;
  int tag = 0;  ///< steps of one tag between two ranks keep their order
  /// kSend only: the step is not sent far ahead of the data received with the same tag, which has
  /// the same length to within a float or two. Where several ranks send to one, all progress
  /// equally, and no queue overflows with data that is not needed yet.
  bool paced = false;
};

using StepKind = AllReduceStep::Kind;

/// All of a rank's steps, in sequential order. AllReduceFlow does as many as it can at a time, with
/// the same result. All ranks have the same number of slices. The i-th step in which a rank sends
/// to a peer with a tag is the i-th step in which the peer receives from it with this tag.
struct AllReducePlan {
  int parts = 1;
  std::vector<AllReduceStep> steps = {};
  /// Several ranks compute the same sum, each adding the other's values to its own. The order of
  /// two operands does not change a sum, but it selects one of two NaN values, so every NaN then
  /// becomes the same NaN.
  bool mirrored = false;
};

/// Returns the plan of one rank.
using AllReducePlanner = std::function<AllReducePlan(int ranks, int rank)>;

/// Whole messages, named by their rank of origin, that are sent to a peer or received from one, one
/// after the other. Channels of one direction between two ranks have different tags.
struct GatherChannel {
  bool out = false;
  int peer = 0;
  std::vector<int> messages = {};
  int tag = 0;
};

/// A rank receives every other rank's message once. It sends its own message and received ones.
using AllGatherPlan = std::vector<GatherChannel>;
using AllGatherPlanner = std::function<AllGatherPlan(int ranks, int rank)>;

// The ring's plans (ring.cc) serve other collectives as well.

/// Returns the plan of a reduce-scatter and an all-gather: 2(n-1) steps of d/n elements each (the
/// ring of Variance-based Gradient Compression, section 5). Every rank sends and receives
/// 2(n-1)/n * 4d bytes, both directions always busy.
AllReducePlan ring_all_reduce(int ranks, int rank);

/// Returns the pipelined ring all-gather-v of the same section: at most (sum of n_i + (p-1) m)
/// beta.
AllGatherPlan ring_all_gather(int ranks, int rank);

}  // namespace thinpipe
