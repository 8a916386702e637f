// A tree of top-k merges: the collective `gtopk`.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "compressors/kernels/keys.h"
#include "compressors/methods/common.h"
#include "workloads/collectives/sparse_collectives.h"

namespace thinpipe {
namespace {

// Writes pairs as a framed message.
void write_framed(const SparsePairs& pairs, std::vector<std::byte>& message) {
  const std::uint64_t length = pairs.size() * sizeof(SparsePair);
  message.resize(framed_pairs_bytes(pairs.size()));
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

// Returns the result of ranks [first, first + width), as far as they exist.
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

/// The rank whose residual gets the pairs that a merge drops.
enum class PutBack {
  /// The rank that dropped a pair, whichever rank sent it: nothing is lost over all ranks.
  kDropper,
  /// Every rank restores its own pairs whose index is not in the result, as in the paper. If a
  /// merge drops a rank's pair but another rank's pair with the same index reaches the root, the
  /// dropped value is lost.
  kSender,
};

/// Sparse all-reduce by a tree of top-k merges: gTop-k S-SGD (Shi et al., ICDCS 2019, alg. 3). In
/// round s of ceil(log2 n), every rank that is an odd multiple of 2^s sends its pairs to the rank
/// 2^s below. That rank adds them to its own pairs and keeps the k pairs of greatest magnitude.
/// Rank 0 ends with the result, which is broadcast down the same tree. Any number of ranks is
/// allowed. Every rank first cuts its own pairs to k, so that no message is longer than 8 + 8k
/// bytes.
///
/// The k greatest pairs of a round are known only at its end, so a round must end before the next
/// begins. So a link is busy in one direction at a time, and idle while its rank waits for its
/// turn. This is inherent in the algorithm, which therefore suits small numbers of pairs.
class GTopK : public SparseCollective {
 public:
  GTopK(std::unique_ptr<Transport> transport, PutBack put_back)
      : SparseCollective(std::move(transport)), put_back_(put_back) {}

  SparseSum sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                              float factor) override {
    const int n = transport().size(), rank = transport().rank();
    pairs_of(own, dimension, pairs_);
    returned_.clear();
    reselection_.keep_top(pairs_, k, returned_);
    // Up the tree: receives from each child, rank + step.
    int step = 1;
    for (; step < n && (rank & step) == 0; step *= 2) {
      if (rank + step >= n) continue;
      receive(rank + step, k, dimension);
      merge_sum(pairs_, others_, merged_);
      std::swap(pairs_, merged_);
      dropped_.clear();
      reselection_.keep_top(pairs_, k, dropped_);
      drop(dropped_);
    }
    if (rank != 0) {
      write_framed(pairs_, message_);
      streams_.send(rank - step, message_);
      streams_.run(transport());
      // Down the same edge.
      receive(rank - step, k, dimension);
      std::swap(pairs_, others_);
    }
    write_framed(pairs_, message_);
    for (step /= 2; step > 0; step /= 2)
      if (rank + step < n) {
        streams_.send(rank + step, message_);
        streams_.run(transport());
      }
    if (put_back_ == PutBack::kSender) pairs_not_in(own, pairs_, returned_);
    return sum_of(pairs_, factor, returned_);
  }

  /// Another algorithm than that of sparse_all_reduce().
  void expected_sparse(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                       std::span<float> out) const override {
    std::fill(out.begin(), out.end(), 0.0F);
    for (const auto& [index, value] : reduced(vectors, 0, std::bit_ceil(vectors.size()), k))
      out[index] = value * factor;
  }

 private:
  // Sets others_ to a peer's pairs.
  void receive(int peer, std::size_t k, std::size_t dimension) {
    streams_.receive_framed(peer, message_, std::min(k, dimension) * sizeof(SparsePair));
    streams_.run(transport());
    read_pairs(framed_content(message_), peer, 0, dimension, others_);
  }
  // Adds pairs to those that this rank restores to its residual.
  void drop(const SparsePairs& dropped) {
    merge_sum(returned_, dropped, merged_);
    std::swap(returned_, merged_);
  }

  PutBack put_back_;
  Streams streams_{1};
  Reselection reselection_;
  SparsePairs pairs_, others_, merged_, dropped_, returned_;
  std::vector<std::byte> message_;
};

// Returns a rank's traffic in the tree: merged pairs go up to rank 0, and the result goes down.
// pairs(n) returns the number of pairs in a message that merges the pairs of n ranks.
template <class Pairs>
Traffic tree_of_merges(int ranks, int rank, Pairs pairs) {
  Traffic traffic;
  const Volume result = framed_pairs(pairs(ranks));
  int step = 1;
  for (; step < ranks && (rank & step) == 0; step *= 2) {
    if (rank + step >= ranks) continue;
    traffic.received += framed_pairs(pairs(std::min(step, ranks - rank - step)));
    traffic.sent += result;
  }
  if (rank == 0) return traffic;
  traffic.sent += framed_pairs(pairs(std::min(step, ranks - rank)));
  traffic.received += result;
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

FlowGraph gtopk_flows(const SparseSizes& sizes, int ranks) {
  PhaseFlows flows(ranks, PhaseFlows::Order::kOneByOne);
  const auto pairs_of = [&](int below) {
    return framed_pairs_bytes(std::min(sizes.k, sizes.own * static_cast<std::size_t>(below)));
  };
  for (int step = 1; step < ranks; step *= 2) {
    flows.begin_phase();
    for (int rank = step; rank < ranks; rank += 2 * step)
      flows.send(rank, rank - step, pairs_of(std::min(step, ranks - rank)));
  }
  for (int step = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks))) / 2; step > 0;
       step /= 2) {
    flows.begin_phase();
    for (int rank = 0; rank + step < ranks; rank += 2 * step)
      flows.send(rank, rank + step, pairs_of(ranks));
  }
  return flows.take();
}

const CollectiveRegistration kGTopK{
    {.name = "gtopk",
     .summary =
         "sparse vectors summed up a binary tree, cut to the k greatest at each merge; dense "
         "arrays by a ring",
     .source = "Shi et al., gTop-k S-SGD, ICDCS 2019, alg. 3",
     .parameters = {choice_parameter("putback", "dropper",
                                     "residual to which a dropped value is restored: that of the "
                                     "rank whose merge dropped it (dropper), or, as published, "
                                     "that of its sender if the index is not in the result "
                                     "(sender)",
                                     {"dropper", "sender"})},
     .reduce = ring_reduce_form(),
     .sparse =
         SparseForm{.traffic = [](const Parameters&, const SparseSizes& sizes, int ranks,
                                  int rank) { return gtopk_traffic(sizes, ranks, rank); },
                    .steps = [](const Parameters&, int ranks) { return 2 * ceil_log2(ranks); },
                    .messages = [](int ranks) { return 2.0 * (ranks - 1); },
                    .flows = gtopk_flows},
     .make = [](const Parameters& parameters, std::unique_ptr<Transport> transport,
                std::size_t) -> std::unique_ptr<Collective> {
       const bool sender = parameters.choice("putback") == "sender";
       return std::make_unique<GTopK>(std::move(transport),
                                      sender ? PutBack::kSender : PutBack::kDropper);
     }}};

}  // namespace
}  // namespace thinpipe
