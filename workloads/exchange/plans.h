// Plans: what each rank sends and receives in an all-reduce and in an all-gather, and in which
// order.
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
  /// kAdd only: the step completes the sum over all ranks, which is then multiplied by the factor.
  bool completes = false;
  int tag = 0;  ///< steps of one tag between two ranks keep their order
  /// kSend only: the step is not sent far ahead of the data received with the same tag, which is as
  /// long to within a float or two. Where several ranks send to one, its link then carries them
  /// abreast, and nobody's queue overflows with what is not needed yet.
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

// The ring's are used beside the pattern, too (ring.cc).

/// Reduce-scatter, then all-gather: 2(n-1) steps of d/n elements each (the ring of Variance-based
/// Gradient Compression, section 5). Every rank sends and receives 2(n-1)/n * 4d bytes, both
/// directions always busy.
AllReducePlan ring_all_reduce(int ranks, int rank);

/// The pipelined ring all-gather-v of the same section: at most (sum of n_i + (p-1) m) beta.
AllGatherPlan ring_all_gather(int ranks, int rank);

}  // namespace thinpipe
