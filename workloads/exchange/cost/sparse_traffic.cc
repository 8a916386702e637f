#include "workloads/exchange/cost/sparse_traffic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "workloads/exchange/cost/bruck_form.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/sparse_vector.h"
#include "workloads/exchange/streams.h"

namespace thinpipe {

namespace {

constexpr std::size_t kWord = sizeof(std::uint32_t);

Volume framed_pairs(std::size_t pairs) {
  return plain_message(kStreamLengthBytes + pairs * sizeof(SparsePair));
}

int doubling_steps(int ranks) {
  return static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
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

Traffic words_of_all(std::size_t words, int ranks, int rank) {
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks), words * kWord);
  return block_gather_traffic(sizes, rank);
}

// So many pairs to, or from, each of the others.
Volume to_others(std::size_t others, std::size_t pairs) { return framed_pairs(pairs) * others; }

SparseTraffic oktopk_traffic(const SparseSizes& sizes, double imbalance, int ranks, int rank) {
  const auto n = static_cast<std::size_t>(ranks), others = n - 1;
  const Traffic counts = words_of_all(1, ranks, rank);
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

}  // namespace

SparseTraffic sparse_all_reduce_traffic(const Spec& pattern, const SparseSizes& sizes, int ranks,
                                        int rank) {
  check_pattern(pattern);
  if (pattern.name == "gtopk") return gtopk_traffic(sizes, ranks, rank);
  if (pattern.name != "oktopk") not_sparse(pattern);
  const Parameters parameters(find_pattern(pattern.name).parameters, pattern);
  return oktopk_traffic(sizes, parameters.real("balance"), ranks, rank);
}

Traffic oktopk_regions_traffic(int ranks, int rank) {
  return words_of_all(static_cast<std::size_t>(ranks - 1), ranks, rank);
}

Traffic oktopk_threshold_traffic(const SparseSizes& sizes, int ranks, int rank) {
  return plus(words_of_all(1, ranks, rank),
              words_of_all(std::max<std::size_t>(sizes.k, 1) + 1, ranks, rank));
}

Traffic mean_count_traffic(int ranks, int rank) { return words_of_all(1, ranks, rank); }

int sparse_all_reduce_steps(const Spec& pattern, int ranks) {
  check_pattern(pattern);
  if (pattern.name == "gtopk") return 2 * doubling_steps(ranks);
  if (pattern.name != "oktopk") not_sparse(pattern);
  const Parameters parameters(find_pattern(pattern.name).parameters, pattern);
  const int at_once = static_cast<int>(parameters.integer("bucket"));
  return (ranks - 1 + at_once - 1) / at_once + 2 * doubling_steps(ranks);
}

}  // namespace thinpipe
