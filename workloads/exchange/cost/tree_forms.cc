#include "workloads/exchange/cost/forms.h"
#include "workloads/exchange/tree.h"

namespace thinpipe {

// The array once each way over every edge of the tree.
Traffic tree_reduce_traffic(const SummedArray& array, int ranks, int rank) {
  const BinomialTree tree(ranks, rank);
  const Volume each =
      ArrayVolume(array, 1).all() * (tree.children.size() + (tree.parent >= 0 ? 1 : 0));
  return {.sent = each, .received = each};
}

// To each child all messages but those of its subtree. What children lack less, together all of the
// own subtree but the own message, is what a rank other than the root sends upwards.
Traffic tree_gather_traffic(const MessageVolume& messages, int rank) {
  const BinomialTree tree(messages.ranks(), rank);
  const Volume down = messages.all() * tree.children.size() + messages.of(rank);
  return {.sent = tree.parent < 0 ? down - messages.all() : down,
          .received = messages.all() - messages.of(rank)};
}

}  // namespace thinpipe
