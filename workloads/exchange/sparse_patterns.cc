// Sparse all-reduces. What of a job is not sparse goes by the ring.
#include "workloads/exchange/sparse_patterns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compressors/compressor.h"
#include "compressors/kernels/keys.h"
#include "compressors/methods/common.h"
#include "workloads/exchange/flows.h"
#include "workloads/exchange/streams.h"

namespace thinpipe {
namespace {

// pairs as a framed message.
void write_framed(const SparsePairs& pairs, std::vector<std::byte>& message) {
  const std::uint64_t length = pairs.size() * sizeof(SparsePair);
  message.resize(kStreamLengthBytes + length);
  std::memcpy(message.data(), &length, kStreamLengthBytes);
  if (length > 0) std::memcpy(message.data() + kStreamLengthBytes, pairs.data(), length);
}

using Elements = std::map<std::size_t, float>;

void keep_greatest(Elements& elements, std::size_t k) {
  std::vector<std::pair<std::int32_t, std::size_t>> ranked;
  for (const auto& [index, value] : elements) ranked.emplace_back(-magnitude_key(value), index);
  std::sort(ranked.begin(), ranked.end());
  for (std::size_t i = k; i < ranked.size(); ++i) elements.erase(ranked[i].second);
}

// The result of ranks [first, first + width) that are there.
Elements reduced(std::span<const std::span<const float>> vectors, std::size_t first,
                 std::size_t width, std::size_t k) {
  Elements elements;
  if (first >= vectors.size()) return elements;
  if (width == 1) {
    for (std::size_t i = 0; i < vectors[first].size(); ++i)
      if (vectors[first][i] != 0) elements[i] = vectors[first][i];
  } else {
    elements = reduced(vectors, first, width / 2, k);
    for (const auto& [index, value] : reduced(vectors, first + width / 2, width / 2, k)) {
      const auto [at, added] = elements.emplace(index, value);
      if (!added) at->second += value;
    }
  }
  keep_greatest(elements, k);
  return elements;
}

constexpr float kAdaption = 1.008F;  // the published code's

// Part i of n, as even as can be.
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

// others_ = what a peer sends.
void GTopK::receive(Transport& transport, int peer, std::size_t k, std::size_t dimension) {
  streams_.receive_framed(peer, message_, std::min(k, dimension) * sizeof(SparsePair));
  streams_.run(transport);
  read_pairs(framed_content(message_), peer, 0, dimension, others_);
}

// Adds to what this rank takes back.
void GTopK::drop(const SparsePairs& dropped) {
  merge_sum(returned_, dropped, merged_);
  std::swap(returned_, merged_);
}

SparseSum GTopK::run(Transport& transport, SparseView own, std::size_t k, std::size_t dimension,
                     float factor) {
  const int n = transport.size(), rank = transport.rank();
  pairs_of(own, dimension, pairs_);
  returned_.clear();
  reselection_.keep_top(pairs_, k, returned_);
  // Up the tree: from whom has more trailing zeros in its rank.
  int step = 1;
  for (; step < n && (rank & step) == 0; step *= 2) {
    if (rank + step >= n) continue;
    receive(transport, rank + step, k, dimension);
    merge_sum(pairs_, others_, merged_);
    std::swap(pairs_, merged_);
    dropped_.clear();
    reselection_.keep_top(pairs_, k, dropped_);
    drop(dropped_);
  }
  if (rank != 0) {
    write_framed(pairs_, message_);
    streams_.send(rank - step, message_);
    streams_.run(transport);
    // Down again, the same way.
    receive(transport, rank - step, k, dimension);
    std::swap(pairs_, others_);
  }
  write_framed(pairs_, message_);
  for (step /= 2; step > 0; step /= 2)
    if (rank + step < n) {
      streams_.send(rank + step, message_);
      streams_.run(transport);
    }
  if (put_back_ == PutBack::kSender) pairs_not_in(own, pairs_, returned_);
  sum_.assign(pairs_, factor);
  back_.assign(returned_, 1.0F);
  return {sum_.view(), back_.view()};
}

void GTopK::expected(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                     std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0F);
  for (const auto& [index, value] : reduced(vectors, 0, std::bit_ceil(vectors.size()), k))
    out[index] = value * factor;
}

void OkTopK::split_regions(Transport& transport, std::size_t dimension) {
  const auto n = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  shared_.assign(n * (n - 1), 0);
  for (std::size_t i = 1; i < n; ++i) {
    const std::size_t at = part_begin(own_.size(), i, n);
    shared_[rank * (n - 1) + i - 1] =
        own_.empty() ? static_cast<std::uint32_t>(part_begin(dimension, i, n)) : own_[at].index;
  }
  sizes_.assign(n, (n - 1) * sizeof(std::uint32_t));
  gather_.run(transport, sizes_, std::as_writable_bytes(std::span(shared_)));
  begins_.assign(n + 1, 0);
  begins_[n] = static_cast<std::uint32_t>(dimension);
  for (std::size_t i = 1; i < n; ++i) {
    std::uint64_t sum = 0;
    for (std::size_t from = 0; from < n; ++from) {
      const std::uint32_t begin = shared_[from * (n - 1) + i - 1];
      const std::uint32_t before = i == 1 ? 0 : shared_[from * (n - 1) + i - 2];
      if (begin < before || begin > dimension)
        throw PayloadError(fmt::format("boundaries of rank {}: {}; expected {} to {}", from, begin,
                                       before, dimension));
      sum += begin;
    }
    begins_[i] = static_cast<std::uint32_t>(sum / n);
  }
}

void OkTopK::reduce_own_region(Transport& transport) {
  const auto n = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  const std::uint32_t begin = begins_[rank], end = begins_[rank + 1];
  outgoing_.resize(n * kStreamLengthBytes + own_.size() * sizeof(SparsePair));
  incoming_.resize(n);
  std::size_t at = 0;
  for (std::size_t i = 1; i < n; ++i) {
    const std::size_t to = (rank + i) % n, from = (rank + n - i) % n;
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
  streams_.run(transport);
  sums_.clear();
  for (std::size_t from = 0; from < n; ++from) {
    if (from == rank) {
      merge_sum(sums_, in_region(own_, begin, end), merged_);
    } else {
      read_pairs(framed_content(incoming_[from]), static_cast<int>(from), begin, end, others_);
      merge_sum(sums_, others_, merged_);
    }
    std::swap(sums_, merged_);
  }
}

void OkTopK::share_count(Transport& transport, std::size_t count) {
  const auto n = static_cast<std::size_t>(transport.size());
  shared_.assign(n, 0);
  shared_[static_cast<std::size_t>(transport.rank())] = static_cast<std::uint32_t>(count);
  sizes_.assign(n, sizeof(std::uint32_t));
  gather_.run(transport, sizes_, std::as_writable_bytes(std::span(shared_)));
  counts_.assign(shared_.begin(), shared_.end());
  for (std::size_t from = 0; from < n; ++from)
    if (counts_[from] > begins_[from + 1] - begins_[from])
      throw PayloadError(fmt::format("rank {} announces {} elements of a region of {}", from,
                                     counts_[from], begins_[from + 1] - begins_[from]));
}

void OkTopK::find_threshold(Transport& transport, std::size_t k) {
  const auto n = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  // No more than k of a rank can be among the k greatest; one more tells that there are more.
  keys_.resize(sums_.size());
  for (std::size_t i = 0; i < sums_.size(); ++i) keys_[i] = magnitude_key(sums_[i].value);
  const std::size_t some = std::min(std::max<std::size_t>(k, 1) + 1, keys_.size());
  if (some < keys_.size())
    std::nth_element(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(some), keys_.end(),
                     std::greater<>());
  share_count(transport, some);
  const std::size_t total = std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
  const std::size_t before = std::accumulate(
      counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(rank), std::size_t{0});
  shared_.resize(total);
  if (some > 0) std::memcpy(shared_.data() + before, keys_.data(), some * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < n; ++i) sizes_[i] = counts_[i] * sizeof(std::uint32_t);
  gather_.run(transport, sizes_, std::as_writable_bytes(std::span(shared_)));
  keys_.resize(total);
  for (std::size_t i = 0; i < total; ++i)
    keys_[i] = static_cast<std::int32_t>(shared_[i] & 0x7fffffffU);
  threshold_ = magnitude_of(Reselection::kth_key(std::span(keys_), k));
}

void OkTopK::balance(Transport& transport, std::span<const SparsePair> own) {
  const auto n = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  std::vector<std::size_t>& begins = sizes_;  // of what the ranks have
  begins.assign(n + 1, 0);
  std::partial_sum(counts_.begin(), counts_.end(), begins.begin() + 1);
  const std::size_t total = begins[n];
  // The places that a rank has and another one will have.
  const auto common = [&](std::size_t has, std::size_t gets) {
    const std::size_t begin = std::max(begins[has], part_begin(total, gets, n));
    const std::size_t end = std::min(begins[has + 1], part_begin(total, gets + 1, n));
    return std::pair(begin, std::max(begin, end));
  };
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t to = (rank + i) % n, from = (rank + n - i) % n;
    const auto [begin, end] = common(rank, to);
    const auto mine = own.subspan(begin < end ? begin - begins[rank] : 0, end - begin);
    if (i == 0) {
      std::copy(mine.begin(), mine.end(), result_.begin() + static_cast<std::ptrdiff_t>(begin));
      continue;
    }
    if (begin < end) streams_.send(static_cast<int>(to), std::as_bytes(mine));
    const auto [in_begin, in_end] = common(from, rank);
    if (in_begin < in_end)
      streams_.receive(static_cast<int>(from), std::as_writable_bytes(std::span(result_).subspan(
                                                   in_begin, in_end - in_begin)));
  }
  streams_.run(transport);
  for (std::size_t i = 0; i < n; ++i)
    counts_[i] = part_begin(total, i + 1, n) - part_begin(total, i, n);
}

void OkTopK::gather_selected(Transport& transport, std::size_t dimension) {
  const auto n = static_cast<std::size_t>(transport.size());
  const auto rank = static_cast<std::size_t>(transport.rank());
  const std::int32_t limit = magnitude_key(used_);
  std::size_t kept = 0;
  for (const SparsePair pair : sums_) {
    sums_[kept] = pair;
    kept += magnitude_key(pair.value) >= limit ? 1 : 0;
  }
  share_count(transport, kept);
  const auto mine = std::span<const SparsePair>(sums_).first(kept);
  const std::size_t total = std::accumulate(counts_.begin(), counts_.end(), std::size_t{0});
  const std::size_t most = *std::max_element(counts_.begin(), counts_.end());
  result_.resize(total);
  if (static_cast<double>(most) * static_cast<double>(n) >
      options_.imbalance * static_cast<double>(total)) {
    balance(transport, mine);
  } else {
    std::copy(mine.begin(), mine.end(),
              std::accumulate(counts_.begin(), counts_.begin() + static_cast<std::ptrdiff_t>(rank),
                              result_.begin()));
  }
  sizes_.resize(n);
  for (std::size_t i = 0; i < n; ++i) sizes_[i] = counts_[i] * sizeof(SparsePair);
  gather_.run(transport, sizes_, std::as_writable_bytes(std::span(result_)));
  // Who of several ranks sent what does not fit is not known after so many hands.
  check_pairs(result_, -1, 0, dimension);
}

SparseSum OkTopK::run(Transport& transport, SparseView own, std::size_t k, std::size_t dimension,
                      float factor) {
  pairs_of(own, dimension, own_);
  if (calls_ % options_.regions == 0 || begins_.back() != dimension)
    split_regions(transport, dimension);
  reduce_own_region(transport);
  found_anew_ = calls_ % options_.thresholds == 0 || k_ != k || stale_;
  k_ = k;
  if (found_anew_) find_threshold(transport, k);
  used_ = threshold_;
  gather_selected(transport, dimension);
  if (options_.adapt) {
    if (3 * result_.size() < 2 * k) threshold_ /= kAdaption;
    if (3 * result_.size() > 4 * k) threshold_ *= kAdaption;
  }
  const auto selected = static_cast<double>(result_.size()), wanted = static_cast<double>(k);
  stale_ = options_.drift > 0 &&
           (selected > options_.drift * wanted || selected * options_.drift < wanted);
  ++calls_;
  pairs_not_in(own, result_, returned_);
  sum_.assign(result_, factor);
  back_.assign(returned_, 1.0F);
  return {sum_.view(), back_.view()};
}

void OkTopK::expected(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                      std::span<float> out) const {
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

// What sparse patterns have beside: a ring for dense arrays, such as small tensors that are sent
// as they are, over the same transport; and a k where ranks know it of their own elements only.
class RingBeside : public RingPattern {
 public:
  explicit RingBeside(std::unique_ptr<Transport> transport)
      : RingBeside(*transport, std::move(transport)) {}

  const std::vector<std::span<const std::byte>>& all_gather(std::span<const std::byte>) override {
    refuse_exchange(Exchange::kAllGather);
  }
  std::size_t mean_count(std::size_t own, std::size_t dimension) override {
    return mean_count_.run(borrowed_, own, dimension);
  }

 protected:
  Transport& transport() { return borrowed_; }

 private:
  // A reference: nothing is moved before the other argument is there.
  RingBeside(Transport& borrowed, std::unique_ptr<Transport>&& transport)
      : RingPattern(std::move(transport), 0), borrowed_(borrowed) {}

  Transport& borrowed_;
  MeanCount mean_count_;
};

class GTopKPattern : public RingBeside {
 public:
  GTopKPattern(std::unique_ptr<Transport> transport, PutBack put_back)
      : RingBeside(std::move(transport)), gtopk_(put_back) {}

  SparseSum sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                              float factor) override {
    return gtopk_.run(transport(), own, k, dimension, factor);
  }
  void expected_sparse(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                       std::span<float> out) const override {
    GTopK::expected(vectors, k, factor, out);
  }

 private:
  GTopK gtopk_;
};

class OkTopKPattern : public RingBeside {
 public:
  OkTopKPattern(std::unique_ptr<Transport> transport, const OkTopKOptions& options)
      : RingBeside(std::move(transport)), oktopk_(options) {}

  SparseSum sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                              float factor) override {
    return oktopk_.run(transport(), own, k, dimension, factor);
  }
  void expected_sparse(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                       std::span<float> out) const override {
    oktopk_.expected(vectors, k, factor, out);
  }

 private:
  OkTopK oktopk_;
};

}  // namespace

PatternInfo gtopk_pattern() {
  return {.name = "gtopk",
          .summary =
              "sparse vectors added up a binary tree, each time cut to the k greatest; dense ones "
              "by a ring",
          .source = "Shi et al., gTop-k S-SGD, ICDCS 2019, alg. 3",
          .parameters = {choice_parameter("putback", "dropper",
                                          "who takes back what a merge drops: who dropped it, or "
                                          "(as published) whoever sent it, if it is not selected",
                                          {"dropper", "sender"})},
          .exchanges = {Exchange::kSparseAllReduce, Exchange::kAllReduce},
          .make = [](const Parameters& parameters, std::unique_ptr<Transport> transport,
                     std::size_t) -> std::unique_ptr<Pattern> {
            const bool sender = parameters.choice("putback") == "sender";
            return std::make_unique<GTopKPattern>(std::move(transport),
                                                  sender ? PutBack::kSender : PutBack::kDropper);
          }};
}

PatternInfo oktopk_pattern() {
  return {
      .name = "oktopk",
      .summary =
          "sparse vectors split evenly over ranks, added up, selected by one threshold; dense ones "
          "by a ring",
      .source = "Li and Hoefler, Ok-Topk, PPoPP 2022, alg. 1",
      .parameters =
          {integer_parameter("regions", "64", "exchanges between two new splits", 1, 100000),
           integer_parameter("thresholds", "32", "exchanges between two new thresholds", 1, 100000),
           integer_parameter("bucket", "4", "ranks that one rank sends to at a time", 1, 1024),
           real_parameter(
               "balance", "4",
               "even out before gathering where the greatest part is over so many times the mean",
               1, 100000),
           real_parameter("drift", "0",
                          "a new threshold also after over so many times k were selected, or under "
                          "one in so many; 0: never",
                          0, 100000),
           flag_parameter(
               "adapt", "false",
               "threshold / 1.008 below 2/3 k selected, * 1.008 above 4/3 (published code)")},
      .exchanges = {Exchange::kSparseAllReduce, Exchange::kAllReduce},
      .make = [](const Parameters& parameters, std::unique_ptr<Transport> transport,
                 std::size_t) -> std::unique_ptr<Pattern> {
        const auto count = [&](const char* name) {
          return static_cast<std::size_t>(parameters.integer(name));
        };
        return std::make_unique<OkTopKPattern>(
            std::move(transport), OkTopKOptions{.regions = count("regions"),
                                                .thresholds = count("thresholds"),
                                                .at_once = count("bucket"),
                                                .imbalance = parameters.real("balance"),
                                                .adapt = parameters.flag("adapt"),
                                                .drift = parameters.real("drift")});
      }};
}

}  // namespace thinpipe
