// The collective `tree`: a binomial tree with rank 0 at its root.
#include <algorithm>
#include <bit>
#include <vector>

#include "workloads/collectives/collectives.h"
#include "workloads/collectives/plans.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {
namespace {

// A rank's position in the binomial tree. The parent's number is the rank's number with its lowest
// set bit cleared. Each child's number is the rank's number with one of the bits below that bit
// set.
struct BinomialTree {
  BinomialTree(int ranks, int rank) : parent(rank == 0 ? -1 : rank & (rank - 1)) {
    const int lowest = rank == 0 ? ranks : rank & -rank;
    for (int bit = 1; bit < lowest && rank + bit < ranks; bit *= 2) children.push_back(rank + bit);
    size = std::min(lowest, ranks - rank);
  }

  int parent;                 ///< -1 for the root
  std::vector<int> children;  ///< the one with the fewest ranks below it first
  int size;                   ///< ranks of its subtree, itself included: this one and the next ones
};

// Returns the tag of the edge to a rank's parent; the parent's other edges have other tags.
int tag_of_edge(int child) { return std::countr_zero(static_cast<unsigned>(child)); }

// Returns the messages that a rank receives from its parent in an all-gather, in order. The
// parent's own message and those of its other subtrees come first. The messages that the parent
// receives from its own parent follow.
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

/// Sums are sent up the tree to the root, and the result is sent down. With a long array both
/// happen at the same time. The root receives and sends ceil(log2 n) * 4d bytes, which determines
/// the total time.
AllReducePlan tree_all_reduce(const Parameters&, int ranks, int rank) {
  const BinomialTree tree(ranks, rank);
  AllReducePlan plan;
  for (const int child : tree.children)
    plan.add(child, 0, 1, tag_of_edge(child), tree.parent < 0 && child == tree.children.back());
  if (tree.parent >= 0) {
    plan.send(tree.parent, 0, 1, tag_of_edge(rank), /*paced=*/true);
    plan.replace(tree.parent, 0, 1, tag_of_edge(rank));
  }
  // The largest subtree comes first, since it is the deepest.
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
    plan.send(*child, 0, 1, tag_of_edge(*child));
  return plan;
}

/// Messages are sent up to the root, and down to every subtree that lacks them.
AllGatherPlan tree_all_gather(const Parameters&, int ranks, int rank) {
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

// Every edge of the tree carries the array once in each direction.
Traffic tree_reduce_traffic(const Parameters&, const SummedArray& array, int ranks, int rank) {
  const BinomialTree tree(ranks, rank);
  const Volume each =
      ArrayVolume(array, 1).all() * (tree.children.size() + (tree.parent >= 0 ? 1 : 0));
  return {.sent = each, .received = each};
}

// A rank sends each child all messages but those of the child's subtree. Every rank but the root
// also sends its parent its own message and the messages of its subtrees.
Traffic tree_gather_traffic(const Parameters&, const MessageVolume& messages, int rank) {
  const BinomialTree tree(messages.ranks(), rank);
  const Volume down = messages.all() * tree.children.size() + messages.of(rank);
  return {.sent = tree.parent < 0 ? down - messages.all() : down,
          .received = messages.all() - messages.of(rank)};
}

int tree_steps(const Parameters&, int ranks) { return 2 * floor_log2(ranks); }
double tree_messages(const Parameters&, int ranks) { return 2.0 * (ranks - 1); }

const CollectiveRegistration kTree{
    {.name = "tree",
     .summary = "reduce up a binomial tree to rank 0, broadcast down the tree, in segments",
     .source = "Thakur, Rabenseifner and Gropp 2005",
     .reduce = ReduceForm{.plan = tree_all_reduce,
                          .traffic = tree_reduce_traffic,
                          .steps = tree_steps,
                          .messages = tree_messages},
     .gather =
         GatherForm{.plan = tree_all_gather, .traffic = tree_gather_traffic, .steps = tree_steps}}};

}  // namespace
}  // namespace thinpipe
