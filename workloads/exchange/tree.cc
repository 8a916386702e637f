#include "workloads/exchange/tree.h"

#include <algorithm>
#include <bit>

namespace thinpipe {

namespace {

// Of the edge to a rank's parent: none that the parent has to its own parent or another child.
int tag_of_edge(int child) { return std::countr_zero(static_cast<unsigned>(child)); }

// What a rank receives from its parent, in order: what comes from other subtrees of the parent,
// which gathers it itself, then what the parent receives from above.
std::vector<int> messages_from_above(int ranks, int rank) {
  const BinomialTree tree(ranks, rank);
  if (tree.parent < 0) return {};
  std::vector<int> messages;
  const BinomialTree above(ranks, tree.parent);
  for (int of = tree.parent; of < tree.parent + above.size; ++of)
    if (of < rank || of >= rank + tree.size) messages.push_back(of);
  const std::vector<int> higher = messages_from_above(ranks, tree.parent);
  messages.insert(messages.end(), higher.begin(), higher.end());
  return messages;
}

std::vector<int> subtree_of(int ranks, int rank) {
  std::vector<int> messages;
  for (int of = rank; of < rank + BinomialTree(ranks, rank).size; ++of) messages.push_back(of);
  return messages;
}

}  // namespace

BinomialTree::BinomialTree(int ranks, int rank) : parent(rank == 0 ? -1 : rank & (rank - 1)) {
  const int lowest = rank == 0 ? ranks : rank & -rank;
  for (int bit = 1; bit < lowest && rank + bit < ranks; bit *= 2) children.push_back(rank + bit);
  size = std::min(lowest, ranks - rank);
}

AllReducePlan tree_all_reduce(int ranks, int rank) {
  const BinomialTree tree(ranks, rank);
  AllReducePlan plan;
  for (const int child : tree.children)
    plan.steps.push_back({.kind = StepKind::kAdd,
                          .peer = child,
                          .completes = tree.parent < 0 && child == tree.children.back(),
                          .tag = tag_of_edge(child)});
  if (tree.parent >= 0) {
    const int tag = tag_of_edge(rank);
    plan.steps.push_back({.kind = StepKind::kSend, .peer = tree.parent, .tag = tag, .paced = true});
    plan.steps.push_back({.kind = StepKind::kReplace, .peer = tree.parent, .tag = tag});
  }
  // The largest subtree has the longest way to go.
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
    plan.steps.push_back({.kind = StepKind::kSend, .peer = *child, .tag = tag_of_edge(*child)});
  return plan;
}

AllGatherPlan tree_all_gather(int ranks, int rank) {
  const BinomialTree tree(ranks, rank);
  AllGatherPlan plan;
  if (tree.parent >= 0) {
    plan.push_back({.out = true, .peer = tree.parent, .messages = subtree_of(ranks, rank)});
    plan.push_back(
        {.out = false, .peer = tree.parent, .messages = messages_from_above(ranks, rank)});
  }
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child) {
    plan.push_back({.out = false, .peer = *child, .messages = subtree_of(ranks, *child)});
    plan.push_back({.out = true, .peer = *child, .messages = messages_from_above(ranks, *child)});
  }
  return plan;
}

}  // namespace thinpipe
