#include "workloads/exchange/ring.h"

namespace thinpipe {

AllReducePlan ring_all_reduce(int ranks, int rank) {
  AllReducePlan plan{.parts = ranks};
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  // In step s part rank-s goes out and part rank-1-s comes in, to go out in the next.
  for (int step = 0; step < 2 * (ranks - 1); ++step) {
    const int out = (rank + 2 * ranks - step) % ranks, in = (left + 2 * ranks - step) % ranks;
    plan.steps.push_back({.kind = StepKind::kSend, .peer = right, .first = out, .last = out + 1});
    plan.steps.push_back({.kind = step < ranks - 1 ? StepKind::kAdd : StepKind::kReplace,
                          .peer = left,
                          .first = in,
                          .last = in + 1,
                          .completes = step == ranks - 2});
  }
  return plan;
}

AllGatherPlan ring_all_gather(int ranks, int rank) {
  if (ranks == 1) return {};
  GatherChannel in{.out = false, .peer = (rank + ranks - 1) % ranks};
  GatherChannel out{.out = true, .peer = (rank + 1) % ranks};
  for (int step = 0; step < ranks - 1; ++step) {
    out.messages.push_back((rank + ranks - step) % ranks);
    in.messages.push_back((rank + ranks - 1 - step) % ranks);
  }
  return {in, out};
}

}  // namespace thinpipe
