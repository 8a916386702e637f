// What one rank sends and receives in an all-reduce, and in which order.
#pragma once

#include <functional>
#include <vector>

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

}  // namespace thinpipe
