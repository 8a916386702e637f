#include <algorithm>
#include <bit>

#include "workloads/exchange/cost/forms.h"
#include "workloads/exchange/recursive_doubling.h"

namespace thinpipe {

namespace {

int steps_of(const FoldedRanks& fold) {
  return std::countr_zero(static_cast<unsigned>(fold.folded));
}

// A rank that hands over, or is handed over to, sends and receives the array once for that.
Traffic with_fold(const FoldedRanks& fold, const Volume& between, const Volume& array) {
  Volume each = fold.hands_over ? Volume{} : between;
  if (fold.partner >= 0) each = each + array;
  return {.sent = each, .received = each};
}

}  // namespace

Traffic doubling_reduce_traffic(const SummedArray& array, int ranks, int rank) {
  const FoldedRanks fold(ranks, rank);
  const Volume all = ArrayVolume(array, 1).all();
  return with_fold(fold, all * static_cast<std::uint64_t>(steps_of(fold)), all);
}

// Of the blocks of 1, 2, 4, ... n'/2 parts that hold the rank's own part, one is received in each
// step of the first half and sent in each of the second; the other way round all parts but its own.
Traffic halving_reduce_traffic(const SummedArray& array, int ranks, int rank) {
  const FoldedRanks fold(ranks, rank);
  const ArrayVolume volume(array, fold.folded);
  if (fold.hands_over) return with_fold(fold, {}, volume.all());
  Volume between = volume.all() - volume.of(fold.id);
  for (int width = 1; width < fold.folded; width *= 2) {
    const int first = fold.id / width * width;
    between = between + volume.of(first, first + width);
  }
  return with_fold(fold, between, volume.all());
}

Traffic doubling_gather_traffic(const MessageVolume& messages, int rank) {
  const int ranks = messages.ranks();
  Traffic traffic{.sent = {}, .received = messages.all() - messages.of(rank)};
  for (int distance = 1; distance < ranks; distance *= 2)
    traffic.sent = traffic.sent + messages.of(rank, std::min(distance, ranks - distance));
  return traffic;
}

}  // namespace thinpipe
