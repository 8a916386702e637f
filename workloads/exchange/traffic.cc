#include "workloads/exchange/traffic.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/plans.h"
#include "workloads/exchange/qgz.h"
#include "workloads/exchange/segments.h"
#include "workloads/exchange/sparse_pairs.h"
#include "workloads/exchange/streams.h"

namespace thinpipe {
namespace {

[[noreturn]] void no_closed_form(const Spec& pattern) {
  check_pattern(pattern);
  throw InputError("what pattern '" + pattern.to_string() + "' sends has no closed form here");
}

int floor_log2(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1;
}

int ceil_log2(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
}

// Ranks beyond a power of two are folded in before, and out after.
int fold_steps(int ranks) { return std::has_single_bit(static_cast<unsigned>(ranks)) ? 0 : 2; }

constexpr std::size_t kWord = sizeof(std::uint32_t);

Volume framed_pairs(std::size_t pairs) {
  return plain_message(kStreamLengthBytes + pairs * sizeof(SparsePair));
}

// Messages up and down the tree, each of what `pairs` says of the ranks below it.
template <class Pairs>
Traffic tree_of_merges(int ranks, int rank, Pairs pairs) {
  Traffic traffic;
  const Volume result = framed_pairs(pairs(ranks));
  int step = 1;
  for (; step < ranks && (rank & step) == 0; step *= 2) {
    if (rank + step >= ranks) continue;
    traffic.received = traffic.received + framed_pairs(pairs(std::min(step, ranks - rank - step)));
    traffic.sent = traffic.sent + result;
  }
  if (rank == 0) return traffic;
  traffic.sent = traffic.sent + framed_pairs(pairs(std::min(step, ranks - rank)));
  traffic.received = traffic.received + result;
  return traffic;
}

SparseTraffic gtopk_traffic(const SparseSizes& sizes, int ranks, int rank) {
  const auto least = [&](int) { return std::min(sizes.k, sizes.own); };
  const auto most = [&](int below) {
    return std::min(sizes.k, sizes.own * static_cast<std::size_t>(below));
  };
  return {.least = tree_of_merges(ranks, rank, least),
          .even = tree_of_merges(ranks, rank, most),
          .most = tree_of_merges(ranks, rank, most)};
}

Traffic plus(const Traffic& one, const Traffic& other) {
  return {.sent = one.sent + other.sent, .received = one.received + other.received};
}

// So many pairs to, or from, each of the others.
Volume to_others(std::size_t others, std::size_t pairs) { return framed_pairs(pairs) * others; }

SparseTraffic oktopk_traffic(const SparseSizes& sizes, double imbalance, int ranks, int rank) {
  const auto n = static_cast<std::size_t>(ranks), others = n - 1;
  const Traffic counts = block_gather_traffic(std::vector<std::size_t>(n, kWord), rank);
  const auto blocks = [&](std::size_t pairs) {
    const std::vector<std::size_t> all(n, pairs * sizeof(SparsePair));
    return block_gather_traffic(all, rank);
  };
  const auto upwards = [&](std::size_t whole) { return (whole + n - 1) / n; };
  SparseTraffic traffic;
  traffic.least = plus(counts, {.sent = to_others(others, 0), .received = to_others(others, 0)});
  const Volume even = to_others(others, sizes.own / n);
  traffic.even = plus(plus(counts, {.sent = even, .received = even}), blocks(sizes.selected / n));
  // All own pairs to one rank, which gets those of all others as well; and of what is selected a
  // block of `imbalance` means before each step, or all of it moved for balance.
  Volume away = to_others(others, 0) + plain_message(sizes.own * sizeof(SparsePair));
  Volume here = to_others(others, sizes.own);
  away.messages += others;  // cut elsewhere, every message has a segment more at most
  const auto greatest = static_cast<std::size_t>(
      std::min(imbalance * static_cast<double>(sizes.selected) / static_cast<double>(n),
               static_cast<double>(sizes.selected)));
  Traffic uneven;
  for (std::size_t have = 1; have < n; have *= 2) {
    const std::size_t pairs =
        std::min(sizes.selected, std::min(have, n - have) * std::max<std::size_t>(greatest, 1));
    uneven.sent = uneven.sent + plain_message(pairs * sizeof(SparsePair));
  }
  uneven.received = uneven.sent;
  Traffic balanced = blocks(upwards(sizes.selected));
  const Volume moved = {others + segments_of_bytes(sizes.selected * sizeof(SparsePair)),
                        sizes.selected * sizeof(SparsePair)};
  balanced = plus(balanced, {.sent = moved, .received = moved});
  const Traffic& longer = balanced.sent.bytes > uneven.sent.bytes ? balanced : uneven;
  const Volume gathered = {std::max(balanced.sent.messages, uneven.sent.messages),
                           longer.sent.bytes};
  traffic.most = plus(counts, {.sent = away + gathered, .received = here + gathered});
  return traffic;
}

[[noreturn]] void not_sparse(const Spec& pattern) {
  check_pattern(pattern);
  refuse_exchange(Exchange::kSparseAllReduce);
}

// A payload behind its head.
Volume volume_of(std::size_t payload) {
  const std::size_t framed = kUnitHeadBytes + payload;
  return {segments_of_bytes(framed), framed};
}

}  // namespace

Traffic all_reduce_traffic(const Spec& pattern, const SummedArray& array, int ranks, int rank) {
  check_pattern(pattern);
  if (reduces_by_ring(pattern)) return ring_reduce_traffic(array, ranks, rank);
  if (pattern.name == "recursive-doubling") return doubling_reduce_traffic(array, ranks, rank);
  if (pattern.name == "halving-doubling") return halving_reduce_traffic(array, ranks, rank);
  if (pattern.name == "tree") return tree_reduce_traffic(array, ranks, rank);
  if (pattern.name == "hierarchical")
    return hierarchical_reduce_traffic(array, ranks, rank, pattern_group(pattern));
  if (pattern.name == "qgz" && array.type == ElementType::kFloat32)
    return qgz_reduce_traffic(array.elements, qgz_options(pattern_parameters(pattern)), ranks,
                              rank);
  no_closed_form(pattern);
}

Traffic all_gather_traffic(const Spec& pattern, std::span<const std::size_t> sizes, int rank) {
  check_pattern(pattern);
  const MessageVolume messages(sizes);
  if (messages.ranks() == 1) return {};
  if (pattern.name == "ring") return ring_gather_traffic(messages, rank);
  if (pattern.name == "recursive-doubling" || pattern.name == "halving-doubling")
    return doubling_gather_traffic(messages, rank);
  if (pattern.name == "tree") return tree_gather_traffic(messages, rank);
  if (pattern.name == "hierarchical")
    return hierarchical_gather_traffic(messages, rank, pattern_group(pattern));
  no_closed_form(pattern);
}

int all_reduce_steps(const Spec& pattern, int ranks) {
  if (reduces_by_ring(pattern)) return 2 * (ranks - 1);
  if (pattern.name == "recursive-doubling") return floor_log2(ranks) + fold_steps(ranks);
  if (pattern.name == "halving-doubling") return 2 * floor_log2(ranks) + fold_steps(ranks);
  if (pattern.name == "tree") return 2 * floor_log2(ranks);
  if (pattern.name == "hierarchical") {
    const RankGroups groups(ranks, pattern_group(pattern));
    return 2 * (groups.group - 1) + 2 * (groups.groups - 1);
  }
  if (pattern.name == "qgz") {
    const int group = pattern_group(pattern), groups = ranks / group;
    return (group > 1 ? 1 : 0) + (groups > 1 ? 1 : 0) + ceil_log2(ranks);
  }
  no_closed_form(pattern);
}

int all_gather_steps(const Spec& pattern, int ranks) {
  if (pattern.name == "ring") return ranks - 1;
  if (pattern.name == "recursive-doubling" || pattern.name == "halving-doubling")
    return ceil_log2(ranks);
  if (pattern.name == "tree") return 2 * floor_log2(ranks);
  if (pattern.name == "hierarchical") {
    const RankGroups groups(ranks, pattern_group(pattern));
    return groups.group - 1 + groups.groups - 1;
  }
  no_closed_form(pattern);
}

// In step s a rank sends the min(2^s, n - 2^s) blocks from its own on as one message, and receives
// those that follow.
Traffic block_gather_traffic(std::span<const std::size_t> sizes, int rank) {
  const std::size_t n = sizes.size(), own = static_cast<std::size_t>(rank);
  const auto of = [&](std::size_t first, std::size_t count) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += sizes[(first + i) % n];
    return plain_message(bytes);
  };
  Traffic traffic;
  for (std::size_t have = 1; have < n; have *= 2) {
    const std::size_t some = std::min(have, n - have);
    traffic.sent = traffic.sent + of(own, some);
    traffic.received = traffic.received + of(own + have, some);
  }
  return traffic;
}

SparseTraffic sparse_all_reduce_traffic(const Spec& pattern, const SparseSizes& sizes, int ranks,
                                        int rank) {
  check_pattern(pattern);
  if (pattern.name == "gtopk") return gtopk_traffic(sizes, ranks, rank);
  if (pattern.name != "oktopk") not_sparse(pattern);
  return oktopk_traffic(sizes, pattern_parameters(pattern).real("balance"), ranks, rank);
}

int sparse_all_reduce_steps(const Spec& pattern, int ranks) {
  check_pattern(pattern);
  if (pattern.name == "gtopk") return 2 * ceil_log2(ranks);
  if (pattern.name != "oktopk") not_sparse(pattern);
  const int at_once = static_cast<int>(pattern_parameters(pattern).integer("bucket"));
  return (ranks - 1 + at_once - 1) / at_once + 2 * ceil_log2(ranks);
}

std::vector<Traffic> push_pull_traffic(const PushPullLayout& layout,
                                       std::span<const std::vector<std::size_t>> push,
                                       std::span<const std::size_t> pull) {
  std::vector<Traffic> ranks(static_cast<std::size_t>(layout.ranks()));
  for (std::size_t unit = 0; unit < layout.units.size(); ++unit) {
    Traffic& server =
        ranks[static_cast<std::size_t>(layout.rank_of_server(layout.units[unit].server))];
    for (std::size_t worker = 0; worker < push.size(); ++worker) {
      if (&ranks[worker] == &server) continue;  // a slice of one's own
      const Volume up = volume_of(push[worker][unit]), down = volume_of(pull[unit]);
      ranks[worker].sent = ranks[worker].sent + up;
      ranks[worker].received = ranks[worker].received + down;
      server.sent = server.sent + down;
      server.received = server.received + up;
    }
  }
  return ranks;
}

}  // namespace thinpipe
