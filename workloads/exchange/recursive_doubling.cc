#include "workloads/exchange/recursive_doubling.h"

#include <algorithm>
#include <bit>

namespace thinpipe {

FoldedRanks::FoldedRanks(int ranks, int rank)
    : folded(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
      extra(ranks - folded),
      hands_over(rank < 2 * extra && rank % 2 == 0),
      partner(rank >= 2 * extra ? -1
              : hands_over      ? rank + 1
                                : rank - 1),
      id(hands_over         ? -1
         : rank < 2 * extra ? rank / 2
                            : rank - extra) {}

int FoldedRanks::rank_of(int of) const { return of < extra ? 2 * of + 1 : of + extra; }

AllReducePlan recursive_doubling_all_reduce(int ranks, int rank) {
  const FoldedRanks fold(ranks, rank);
  AllReducePlan plan{.parts = 1, .mirrored = true};
  if (fold.hands_over) {
    plan.steps = {{.kind = StepKind::kSend, .peer = fold.partner},
                  {.kind = StepKind::kReplace, .peer = fold.partner}};
    return plan;
  }
  if (fold.partner >= 0) plan.steps.push_back({.kind = StepKind::kAdd, .peer = fold.partner});
  for (int distance = 1; distance < fold.folded; distance *= 2) {
    const int peer = fold.rank_of(fold.id ^ distance);
    plan.steps.push_back({.kind = StepKind::kSend, .peer = peer, .tag = distance, .paced = true});
    plan.steps.push_back({.kind = StepKind::kAdd,
                          .peer = peer,
                          .completes = 2 * distance == fold.folded,
                          .tag = distance});
  }
  if (fold.partner >= 0) plan.steps.push_back({.kind = StepKind::kSend, .peer = fold.partner});
  return plan;
}

AllGatherPlan recursive_doubling_all_gather(int ranks, int rank) {
  AllGatherPlan plan;
  for (int distance = 1; distance < ranks; distance *= 2) {
    GatherChannel in{.out = false, .peer = (rank + distance) % ranks};
    GatherChannel out{.out = true, .peer = (rank + ranks - distance) % ranks};
    for (int i = 0; i < std::min(distance, ranks - distance); ++i) {
      in.messages.push_back((rank + distance + i) % ranks);
      out.messages.push_back((rank + i) % ranks);
    }
    plan.push_back(in);
    plan.push_back(out);
  }
  return plan;
}

}  // namespace thinpipe
