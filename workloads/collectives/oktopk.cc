// The collective `oktopk`: a balanced split of the indices and one global threshold.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compressors/compressor.h"
#include "compressors/kernels/keys.h"
#include "compressors/methods/common.h"
#include "workloads/collectives/sparse_collectives.h"

namespace thinpipe {
namespace {

constexpr float kAdaption = 1.008F;  // of the published code

// Returns the first element of slice i of n, for slices as even as possible.
std::size_t part_begin(std::size_t whole, std::size_t i, std::size_t n) { return whole * i / n; }

std::span<const SparsePair> in_region(const SparsePairs& pairs, std::uint32_t begin,
                                      std::uint32_t end) {
  const auto before = [](const SparsePair& pair, std::uint32_t index) {
    return pair.index < index;
  };
  const auto first = std::lower_bound(pairs.begin(), pairs.end(), begin, before);
  return {first, std::lower_bound(first, pairs.end(), end, before)};
}

}  // namespace

template <class T>
void OkTopK::gather(std::vector<T>& all) {
  sizes_.resize(n_);
  for (std::size_t i = 0; i < n_; ++i) sizes_[i] = counts_[i] * sizeof(T);
  gather_.run(transport(), sizes_, std::as_writable_bytes(std::span(all)));
}

void OkTopK::split_regions(std::size_t dimension) {
  shared_.assign(n_ * (n_ - 1), 0);
  for (std::size_t i = 1; i < n_; ++i) {
    const std::size_t at = part_begin(own_.size(), i, n_);
    shared_[rank_ * (n_ - 1) + i - 1] =
        own_.empty() ? static_cast<std::uint32_t>(part_begin(dimension, i, n_)) : own_[at].index;
  }
  counts_.assign(n_, n_ - 1);
  gather(shared_);
  begins_.assign(n_ + 1, 0);
  begins_[n_] = static_cast<std::uint32_t>(dimension);
  for (std::size_t i = 1; i < n_; ++i) {
    std::uint64_t sum = 0;
    for (std::size_t from = 0; from < n_; ++from) {
      const std::uint32_t begin = shared_[from * (n_ - 1) + i - 1];
      const std::uint32_t before = i == 1 ? 0 : shared_[from * (n_ - 1) + i - 2];
      if (begin < before || begin > dimension)
        throw PayloadError(fmt::format("boundaries of rank {}: {}; expected {} to {}", from, begin,
                                       before, dimension));
      sum += begin;
    }
    begins_[i] = static_cast<std::uint32_t>(sum / n_);
  }
}

void OkTopK::reduce_own_region() {
  const std::uint32_t begin = begins_[rank_], end = begins_[rank_ + 1];
  outgoing_.resize(n_ * kStreamLengthBytes + own_.size() * sizeof(SparsePair));
  incoming_.resize(n_);
  std::size_t at = 0;
  for (std::size_t i = 1; i < n_; ++i) {
    const std::size_t to = (rank_ + i) % n_, from = (rank_ + n_ - i) % n_;
    const auto part = in_region(own_, begins_[to], begins_[to + 1]);
    const std::uint64_t length = part.size_bytes();
    std::memcpy(outgoing_.data() + at, &length, kStreamLengthBytes);
    if (length > 0) std::memcpy(outgoing_.data() + at + kStreamLengthBytes, part.data(), length);
    streams_.send(static_cast<int>(to),
                  std::span(outgoing_).subspan(at, kStreamLengthBytes + length));
    at += kStreamLengthBytes + length;
    streams_.receive_framed(static_cast<int>(from), incoming_[from],
                            std::size_t{end - begin} * sizeof(SparsePair));
  }
  streams_.run(transport());
  sums_.clear();
  for (std::size_t from = 0; from < n_; ++from) {
    if (from == rank_) {
      merge_sum(sums_, in_region(own_, begin, end), merged_);
    } else {
      read_pairs(framed_content(incoming_[from]), static_cast<int>(from), begin, end, others_);
      merge_sum(sums_, others_, merged_);
    }
    std::swap(sums_, merged_);
  }
}

void OkTopK::share_count(std::size_t count) {
  shared_.assign(n_, 0);
  shared_[rank_] = static_cast<std::uint32_t>(count);
  counts_.assign(n_, 1);
  gather(shared_);
  counts_.assign(shared_.begin(), shared_.end());
  for (std::size_t from = 0; from < n_; ++from)
    if (counts_[from] > begins_[from + 1] - begins_[from])
      throw PayloadError(fmt::format("rank {} announces {} elements of a region of {}", from,
                                     counts_[from], begins_[from + 1] - begins_[from]));
}

void OkTopK::find_threshold(std::size_t k) {
  // Each rank shares only its k + 1 greatest keys (magnitudes). At most k keys of a rank can be
  // among the k greatest of all ranks. The additional key shows that the rank has more than k keys.
  keys_.resize(sums_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i) keys_[i] = magnitude_key(sums_[i].value);
  const std::size_t some = std::min(std::max<std::size_t>(k, 1) + 1, keys_.size());
  if (some < keys_.size())
    std::nth_element(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(some), keys_.end(),
                     std::greater<>());
  share_count(some);
  const std::size_t total = std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
  const std::size_t before = std::accumulate(
      counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(rank_), std::size_t{0});
  shared_.resize(total);
  if (some > 0) std::memcpy(shared_.data() + before, keys_.data(), some * sizeof(std::uint32_t));
  gather(shared_);
  keys_.resize(total);
  for (std::size_t i = 0; i < total; ++i)
    keys_[i] = static_cast<std::int32_t>(shared_[i] & 0x7fffffffU);
  threshold_ = magnitude_of(Reselection::kth_key(std::span(keys_), k));
}

void OkTopK::balance(std::span<const SparsePair> own) {
  std::vector<std::size_t>& begins = sizes_;  // of each rank's selected pairs among all
  begins.assign(n_ + 1, 0);
  std::partial_sum(counts_.begin(), counts_.end(), begins.begin() + 1);
  const std::size_t total = begins[n_];
  // Returns the range of pairs that one rank has and another gets.
  const auto common = [&](std::size_t has, std::size_t gets) {
    const std::size_t begin = std::max(begins[has], part_begin(total, gets, n_));
    const std::size_t end = std::min(begins[has + 1], part_begin(total, gets + 1, n_));
    return std::pair(begin, std::max(begin, end));
  };
  for (std::size_t i = 0; i < n_; ++i) {
    const std::size_t to = (rank_ + i) % n_, from = (rank_ + n_ - i) % n_;
    const auto [begin, end] = common(rank_, to);
    const auto mine = own.subspan(begin < end ? begin - begins[rank_] : 0, end - begin);
    if (i == 0) {
      std::copy(mine.begin(), mine.end(), result_.begin() + static_cast<std::ptrdiff_t>(begin));
      continue;
    }
    if (begin < end) streams_.send(static_cast<int>(to), std::as_bytes(mine));
    const auto [in_begin, in_end] = common(from, rank_);
    if (in_begin < in_end)
      streams_.receive(static_cast<int>(from), std::as_writable_bytes(std::span(result_).subspan(
                                                   in_begin, in_end - in_begin)));
  }
  streams_.run(transport());
  for (std::size_t i = 0; i < n_; ++i)
    counts_[i] = part_begin(total, i + 1, n_) - part_begin(total, i, n_);
}

void OkTopK::gather_selected(std::size_t dimension) {
  const std::int32_t limit = magnitude_key(used_);
  std::size_t kept = 0;
  for (const SparsePair pair : sums_) {
    sums_[kept] = pair;
    kept += magnitude_key(pair.value) >= limit ? 1 : 0;
  }
  share_count(kept);
  const auto mine = std::span<const SparsePair>(sums_).first(kept);
  const std::size_t total = std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
  const std::size_t most = *std::max_element(counts_.begin(), counts_.end());
  result_.resize(total);
  if (static_cast<double>(most) * static_cast<double>(n_) >
      options_.imbalance * static_cast<double>(total)) {
    balance(mine);
  } else {
    std::copy(mine.begin(), mine.end(),
              std::accumulate(counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(rank_),
                              result_.begin()));
  }
  gather(result_);
  // The sender of a bad pair is unknown: several ranks may have passed it on.
  check_pairs(result_, -1, 0, dimension);
}

SparseSum OkTopK::sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                                    float factor) {
  pairs_of(own, dimension, own_);
  if (calls_ % options_.regions == 0 || begins_.back() != dimension) split_regions(dimension);
  reduce_own_region();
  found_anew_ = calls_ % options_.thresholds == 0 || k_ != k || stale_;
  k_ = k;
  if (found_anew_) find_threshold(k);
  used_ = threshold_;
  gather_selected(dimension);
  if (options_.adapt) {
    if (3 * result_.size() < 2 * k) threshold_ /= kAdaption;
    if (3 * result_.size() > 4 * k) threshold_ *= kAdaption;
  }
  const auto selected = static_cast<double>(result_.size()), wanted = static_cast<double>(k);
  stale_ = options_.drift > 0 &&
           (selected > options_.drift * wanted || selected * options_.drift < wanted);
  ++calls_;
  pairs_not_in(own, result_, returned_);
  return sum_of(result_, factor, returned_);
}

void OkTopK::expected_sparse(std::span<const std::span<const float>> vectors, std::size_t k,
                             float factor, std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  for (const auto& vector : vectors)
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += vector[i];
  float threshold = used_;
  if (found_anew_) {
    std::vector<float> magnitudes;
    for (const float value : out)
      if (value != 0) magnitudes.push_back(std::fabs(value));
    k = std::max<std::size_t>(k, 1);
    std::sort(magnitudes.begin(), magnitudes.end(), std::greater<>());
    threshold = magnitudes.size() > k ? magnitudes[k - 1] : 0.0F;
  }
  for (float& value : out) value = std::fabs(value) >= threshold ? value * factor : 0.0F;
}

namespace {

constexpr std::size_t kWord = sizeof(std::uint32_t);

// Returns the volume of so many pairs to, or from, each other rank.
Volume to_others(std::size_t others, std::size_t pairs) { return framed_pairs(pairs) * others; }

SparseTraffic oktopk_traffic(const SparseSizes& sizes, double imbalance, int ranks, int rank) {
  const auto n = static_cast<std::size_t>(ranks), others = n - 1;
  const Traffic counts = block_gather_traffic(std::vector<std::size_t>(n, kWord), rank);
  const auto blocks = [&](std::size_t pairs) {
    const std::vector<std::size_t> all(n, pairs * sizeof(SparsePair));
    return block_gather_traffic(all, rank);
  };
  SparseTraffic traffic;
  const Volume none = to_others(others, 0), even = to_others(others, sizes.own / n);
  traffic.least = counts + Traffic{none, none};
  traffic.even = counts + Traffic{even, even} + blocks(sizes.selected / n);
  // Upper bound of the traffic. In the worst case, a rank sends all its own pairs to one other
  // rank, and receives all pairs of all other ranks. In the all-gather of the selected pairs there
  // are two worst cases. Either blocks have up to `imbalance` times the mean size, or all selected
  // pairs first move to balance the blocks.
  Volume away = none + plain_message(sizes.own * sizeof(SparsePair));
  Volume here = to_others(others, sizes.own);
  away.messages += others;  // with other cuts, every message has at most one segment more
  const auto greatest = static_cast<std::size_t>(
      std::min(imbalance * static_cast<double>(sizes.selected) / static_cast<double>(n),
               static_cast<double>(sizes.selected)));
  Traffic uneven;
  for (std::size_t have = 1; have < n; have *= 2) {
    const std::size_t pairs =
        std::min(sizes.selected, std::min(have, n - have) * std::max<std::size_t>(greatest, 1));
    uneven.sent += plain_message(pairs * sizeof(SparsePair));
  }
  uneven.received = uneven.sent;
  const Volume moved = {others + segments_of_bytes(sizes.selected * sizeof(SparsePair)),
                        sizes.selected * sizeof(SparsePair)};
  const Traffic balanced = blocks((sizes.selected + n - 1) / n) + Traffic{moved, moved};
  const Traffic& longer = balanced.sent.bytes > uneven.sent.bytes ? balanced : uneven;
  const Volume gathered = {std::max(balanced.sent.messages, uneven.sent.messages),
                           longer.sent.bytes};
  traffic.most = counts + Traffic{away + gathered, here + gathered};
  return traffic;
}

FlowGraph oktopk_flows(const SparseSizes& sizes, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  PhaseFlows flows(ranks, PhaseFlows::Order::kTurns);
  flows.begin_phase();
  for (int i = 1; i < ranks; ++i)
    for (int rank = 0; rank < ranks; ++rank)
      flows.send(rank, (rank + i) % ranks, framed_pairs_bytes(sizes.own / n));
  flows.gather_blocks(std::vector<std::size_t>(n, sizeof(std::uint32_t)));
  flows.gather_blocks(std::vector<std::size_t>(n, sizes.selected / n * sizeof(SparsePair)));
  return flows.take();
}

const CollectiveRegistration kOkTopK{
    {.name = "oktopk",
     .summary =
         "sparse vectors split evenly over ranks, summed, selected by one threshold; dense arrays "
         "by a ring",
     .source = "Li and Hoefler, Ok-Topk, PPoPP 2022, alg. 1",
     .parameters =
         {integer_parameter("regions", "64", "exchanges from one split to the next", 1, 100000),
          integer_parameter("thresholds", "32", "exchanges from one threshold to the next", 1,
                            100000),
          integer_parameter("bucket", "4", "ranks that one rank sends to at a time", 1, 1024),
          real_parameter(
              "balance", "4",
              "balance the blocks before the all-gather if the largest block exceeds the mean by "
              "this factor",
              1, 100000),
          real_parameter("drift", "0",
                         "also find a new threshold after selecting more than drift * k or fewer "
                         "than k / drift elements; 0: never",
                         0, 100000),
          flag_parameter(
              "adapt", "false",
              "divide the threshold by 1.008 if fewer than 2/3 k elements are selected, multiply "
              "it by 1.008 if more than 4/3 k are (published code)")},
     .reduce = ring_reduce_form(),
     .sparse = SparseForm{
         .traffic =
             [](const Parameters& parameters, const SparseSizes& sizes, int ranks, int rank) {
               return oktopk_traffic(sizes, parameters.real("balance"), ranks, rank);
             },
         .steps =
             [](const Parameters& parameters, int ranks) {
               const int at_once = static_cast<int>(parameters.integer("bucket"));
               return (ranks - 1 + at_once - 1) / at_once + 2 * ceil_log2(ranks);
             },
         .messages = [](int ranks) { return static_cast<double>(ranks) * (ranks - 1); },
         .flows = oktopk_flows},
     .make = [](const Parameters& parameters, std::unique_ptr<Transport> transport,
                std::size_t) -> std::unique_ptr<Collective> {
       const auto count = [&](const char* name) {
         return static_cast<std::size_t>(parameters.integer(name));
       };
       return std::make_unique<OkTopK>(std::move(transport),
                                       OkTopKOptions{.regions = count("regions"),
                                                     .thresholds = count("thresholds"),
                                                     .at_once = count("bucket"),
                                                     .imbalance = parameters.real("balance"),
                                                     .adapt = parameters.flag("adapt"),
                                                     .drift = parameters.real("drift")});
     }}};

}  // namespace
}  // namespace thinpipe
