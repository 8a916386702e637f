// The collectives `recursive-doubling` and `halving-doubling`: partners at distances 1, 2, 4, ...
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "workloads/collectives/collectives.h"
#include "workloads/collectives/plans.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {
namespace {

/// Folds n ranks to a power of two, n' = 2^floor(log2 n), that take part (Rabenseifner 2004, as in
/// MPICH). Among the first 2 (n - n') ranks, every even rank first sends its array to the next
/// rank. It takes no part in between, and receives the result from that rank at the end.
struct FoldedRanks {
  FoldedRanks(int ranks, int rank)
      : folded(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
        extra(ranks - folded),
        hands_over(rank < 2 * extra && rank % 2 == 0),
        partner(rank >= 2 * extra ? -1
                : hands_over      ? rank + 1
                                  : rank - 1),
        id(hands_over         ? -1
           : rank < 2 * extra ? rank / 2
                              : rank - extra) {}
  int folded;       ///< n'
  int extra;        ///< n - n'
  bool hands_over;  ///< this rank sends its array to `partner` and takes no part in between
  int partner;      ///< the other rank of the pair; -1: none
  int id;           ///< among the ranks that take part; -1 where this rank hands over
  /// Returns the rank that takes part as `of`.
  int rank_of(int of) const { return of < extra ? 2 * of + 1 : of + extra; }
  /// Returns the steps between ranks that take part: log2 n'.
  int steps() const { return std::countr_zero(static_cast<unsigned>(folded)); }
};

// Appends the numbers of the `width` slices that rank `id` still adds up. The slices that the rank
// sends in its next step come first, so that they do not wait for the other slices.
void add_in_order_of_need(int id, int width, std::vector<int>& parts) {
  if (width == 1) {
    parts.push_back(id);
    return;
  }
  add_in_order_of_need(id ^ (width / 2), width / 2, parts);
  add_in_order_of_need(id, width / 2, parts);
}

// Adds the traffic of folding: both ranks of a pair send and receive the array once more.
Traffic with_fold(const FoldedRanks& fold, const Volume& between, const Volume& array) {
  Volume each = fold.hands_over ? Volume{} : between;
  if (fold.partner >= 0) each += array;
  return {.sent = each, .received = each};
}

/// In steps k = 0 to log2 n' - 1, ranks that are 2^k apart exchange whole arrays of d floats and
/// add them. No all-reduce with one partner at a time has fewer steps. Every rank sends and
/// receives log2 n' * 4d bytes, not counting the folding (FoldedRanks).
AllReducePlan recursive_doubling_all_reduce(const Parameters&, int ranks, int rank) {
  const FoldedRanks fold(ranks, rank);
  AllReducePlan plan{.parts = 1, .mirrored = true};
  if (fold.hands_over) {
    plan.send(fold.partner, 0, 1);
    plan.replace(fold.partner, 0, 1);
    return plan;
  }
  if (fold.partner >= 0) plan.add(fold.partner, 0, 1);
  for (int distance = 1; distance < fold.folded; distance *= 2) {
    const int peer = fold.rank_of(fold.id ^ distance);
    plan.send(peer, 0, 1, distance, /*paced=*/true);
    plan.add(peer, 0, 1, distance, 2 * distance == fold.folded);
  }
  if (fold.partner >= 0) plan.send(fold.partner, 0, 1);
  return plan;
}

/// Bruck's algorithm (Bruck et al. 1997), for any number of ranks, in ceil(log2 n) steps. In step k
/// a rank sends min(2^k, n - 2^k) messages to the rank 2^k before it: its own message and the
/// messages of the ranks after it. A rank receives no message twice.
AllGatherPlan recursive_doubling_all_gather(const Parameters&, int ranks, int rank) {
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

/// Reduce-scatter by halving between ranks at distances n'/2, ..., 2, 1, then all-gather at
/// distances 1, 2, ..., n'/2 (Rabenseifner 2004). Its 2 log2 n' steps are the fewest with at most
/// the bytes of a ring. Every rank that takes part sends and receives 2(n'-1)/n' * 4d bytes. A rank
/// with a partner beyond the power of two n' (FoldedRanks) sends and receives 4d bytes more.
AllReducePlan halving_doubling_all_reduce(const Parameters&, int ranks, int rank) {
  const FoldedRanks fold(ranks, rank);
  AllReducePlan plan{.parts = fold.folded};
  const int all = fold.folded;
  if (fold.hands_over) {
    plan.send(fold.partner, 0, all);
    plan.replace(fold.partner, 0, all);
    return plan;
  }
  if (fold.partner >= 0) plan.add(fold.partner, 0, all);
  for (int distance = all / 2; distance >= 1; distance /= 2) {
    const int other = fold.id ^ distance, peer = fold.rank_of(other);
    std::vector<int> parts;
    add_in_order_of_need(other, distance, parts);
    for (const int part : parts) plan.send(peer, part, part + 1, distance, /*paced=*/true);
    parts.clear();
    add_in_order_of_need(fold.id, distance, parts);
    for (const int part : parts) plan.add(peer, part, part + 1, distance, distance == 1);
  }
  const auto range_of = [](int id, int width) { return id / width * width; };
  for (int distance = 1; distance < all; distance *= 2) {
    const int other = fold.id ^ distance, peer = fold.rank_of(other);
    const int mine = range_of(fold.id, distance), theirs = range_of(other, distance);
    plan.send(peer, mine, mine + distance, distance, /*paced=*/true);
    plan.replace(peer, theirs, theirs + distance, distance);
  }
  if (fold.partner >= 0) plan.send(fold.partner, 0, all);
  return plan;
}

Traffic doubling_reduce_traffic(const Parameters&, const SummedArray& array, int ranks, int rank) {
  const FoldedRanks fold(ranks, rank);
  const Volume all = ArrayVolume(array, 1).all();
  return with_fold(fold, all * static_cast<std::uint64_t>(fold.steps()), all);
}

// The blocks of 1, 2, 4, ... n'/2 slices that contain a rank's own slice each cross its link once
// in each half. In the first half (the reduce-scatter) the rank receives them, one in each step,
// and sends all slices but its own. In the second half (the all-gather) it sends them and receives
// all slices but its own.
Traffic halving_reduce_traffic(const Parameters&, const SummedArray& array, int ranks, int rank) {
  const FoldedRanks fold(ranks, rank);
  const ArrayVolume volume(array, fold.folded);
  if (fold.hands_over) return with_fold(fold, {}, volume.all());
  Volume between = volume.all() - volume.of(fold.id);
  for (int width = 1; width < fold.folded; width *= 2) {
    const int first = fold.id / width * width;
    between += volume.of(first, first + width);
  }
  return with_fold(fold, between, volume.all());
}

Traffic doubling_gather_traffic(const Parameters&, const MessageVolume& messages, int rank) {
  const int ranks = messages.ranks();
  Traffic traffic{.sent = {}, .received = messages.all() - messages.of(rank)};
  for (int distance = 1; distance < ranks; distance *= 2)
    traffic.sent += messages.of(rank, std::min(distance, ranks - distance));
  return traffic;
}

// Ranks beyond a power of two take one step before and one after.
int with_fold_steps(int ranks, int times) {
  const FoldedRanks fold(ranks, 0);
  return times * fold.steps() + (fold.extra == 0 ? 0 : 2);
}
int doubling_steps(const Parameters&, int ranks) { return with_fold_steps(ranks, 1); }
int halving_steps(const Parameters&, int ranks) { return with_fold_steps(ranks, 2); }
int bruck_steps(const Parameters&, int ranks) { return ceil_log2(ranks); }

double doubling_messages(const Parameters&, int ranks) {
  const FoldedRanks fold(ranks, 0);
  return fold.folded * static_cast<double>(fold.steps()) + 2.0 * fold.extra;
}
double halving_messages(const Parameters&, int ranks) { return 2.0 * ranks * (ranks - 1); }

constexpr GatherForm kBruck{.plan = recursive_doubling_all_gather,
                            .traffic = doubling_gather_traffic,
                            .steps = bruck_steps};

const CollectiveRegistration kRecursiveDoubling{
    {.name = "recursive-doubling",
     .summary = "ranks 1, 2, 4, ... apart exchange whole arrays: few steps, more bytes",
     .source = "Thakur, Rabenseifner and Gropp 2005; all-gather by Bruck et al. 1997",
     .reduce = ReduceForm{.plan = recursive_doubling_all_reduce,
                          .traffic = doubling_reduce_traffic,
                          .steps = doubling_steps,
                          .messages = doubling_messages},
     .gather = kBruck}};

const CollectiveRegistration kHalvingDoubling{
    {.name = "halving-doubling",
     .summary =
         "reduce-scatter by halving, all-gather by doubling: few steps, as few bytes as a ring",
     .source = "Rabenseifner 2004; all-gather by Bruck et al. 1997",
     .reduce = ReduceForm{.plan = halving_doubling_all_reduce,
                          .traffic = halving_reduce_traffic,
                          .steps = halving_steps,
                          .messages = halving_messages},
     .gather = kBruck}};

}  // namespace
}  // namespace thinpipe
