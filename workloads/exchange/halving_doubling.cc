#include "workloads/exchange/halving_doubling.h"

#include "workloads/exchange/recursive_doubling.h"

namespace thinpipe {

namespace {

// The parts that `id` still adds up, when `width` of them are left to it: first those it gives away
// next, so that it need not wait for the rest.
void add_in_order_of_need(int id, int width, std::vector<int>& parts) {
  if (width == 1) {
    parts.push_back(id);
    return;
  }
  add_in_order_of_need(id ^ (width / 2), width / 2, parts);
  add_in_order_of_need(id, width / 2, parts);
}

}  // namespace

AllReducePlan halving_doubling_all_reduce(int ranks, int rank) {
  const FoldedRanks fold(ranks, rank);
  AllReducePlan plan{.parts = fold.folded};
  const int all = fold.folded;
  if (fold.hands_over) {
    plan.steps = {{.kind = StepKind::kSend, .peer = fold.partner, .first = 0, .last = all},
                  {.kind = StepKind::kReplace, .peer = fold.partner, .first = 0, .last = all}};
    return plan;
  }
  if (fold.partner >= 0)
    plan.steps.push_back({.kind = StepKind::kAdd, .peer = fold.partner, .first = 0, .last = all});
  for (int distance = all / 2; distance >= 1; distance /= 2) {
    const int other = fold.id ^ distance, peer = fold.rank_of(other);
    std::vector<int> parts;
    add_in_order_of_need(other, distance, parts);
    for (const int part : parts)
      plan.steps.push_back({.kind = StepKind::kSend,
                            .peer = peer,
                            .first = part,
                            .last = part + 1,
                            .tag = distance,
                            .paced = true});
    parts.clear();
    add_in_order_of_need(fold.id, distance, parts);
    for (const int part : parts)
      plan.steps.push_back({.kind = StepKind::kAdd,
                            .peer = peer,
                            .first = part,
                            .last = part + 1,
                            .completes = distance == 1,
                            .tag = distance});
  }
  const auto range_of = [](int id, int width) { return id / width * width; };
  for (int distance = 1; distance < all; distance *= 2) {
    const int other = fold.id ^ distance, peer = fold.rank_of(other);
    const int mine = range_of(fold.id, distance), theirs = range_of(other, distance);
    plan.steps.push_back({.kind = StepKind::kSend,
                          .peer = peer,
                          .first = mine,
                          .last = mine + distance,
                          .tag = distance,
                          .paced = true});
    plan.steps.push_back({.kind = StepKind::kReplace,
                          .peer = peer,
                          .first = theirs,
                          .last = theirs + distance,
                          .tag = distance});
  }
  if (fold.partner >= 0)
    plan.steps.push_back({.kind = StepKind::kSend, .peer = fold.partner, .first = 0, .last = all});
  return plan;
}

}  // namespace thinpipe
