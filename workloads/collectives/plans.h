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
  /// kSend only: the rank does not send this step far ahead of the data that it receives with the
  /// same tag. The data sent and received have the same length to within a float or two. If several
  /// ranks send to one rank, all of them then progress equally, and no queue overflows with data
  /// that is not needed yet.
  bool paced = false;
};

using StepKind = AllReduceStep::Kind;

/// All of a rank's steps, in sequential order. AllReduceFlow runs as many steps at a time as it
/// can, with the same result. All ranks have the same number of slices. For two ranks and one tag,
/// the sender's i-th send matches the receiver's i-th receive.
struct AllReducePlan {
  int parts = 1;
  std::vector<AllReduceStep> steps = {};
  /// Several ranks compute the same sum, and each adds another rank's values to its own. The order
  /// of two operands does not change a sum of numbers. If both operands are NaN, the order decides
  /// which NaN results. So every NaN is replaced by the same NaN.
  bool mirrored = false;

  // Append a step of slices [first, last).
  void send(int peer, int first, int last, int tag = 0, bool paced = false) {
    steps.push_back({StepKind::kSend, peer, first, last, false, tag, paced});
  }
  void add(int peer, int first, int last, int tag = 0, bool completes = false) {
    steps.push_back({StepKind::kAdd, peer, first, last, completes, tag});
  }
  void replace(int peer, int first, int last, int tag = 0) {
    steps.push_back({StepKind::kReplace, peer, first, last, false, tag});
  }
};

/// Returns the plan of one rank.
using AllReducePlanner = std::function<AllReducePlan(int ranks, int rank)>;

/// Whole messages that a rank sends to one peer, or receives from it, one after the other. Each
/// message is named by the rank where it originates. Channels of one direction between the same two
/// ranks have different tags.
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

/// Returns the plan of a ring all-reduce of d floats: a reduce-scatter and an all-gather, with
/// 2(n-1) steps of d/n elements in all (Variance-based Gradient Compression, section 5). Every rank
/// sends and receives 2(n-1)/n * 4d bytes. Both directions of its link are always busy.
AllReducePlan ring_all_reduce(int ranks, int rank);

/// Returns the plan of a pipelined ring all-gather of messages of unequal lengths (all-gather-v).
/// By the same section, it takes at most (sum of n_i + (p-1) m) beta for p ranks, messages of
/// length n_i and segments of length m.
AllGatherPlan ring_all_gather(int ranks, int rank);

}  // namespace thinpipe
