// The sparse all-reduces gTop-k and Ok-Topk, and their collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "workloads/collectives/collectives.h"
#include "workloads/collectives/flows.h"
#include "workloads/collectives/sparse_pairs.h"
#include "workloads/collectives/streams.h"
#include "workloads/collectives/transport.h"

namespace thinpipe {

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
class GTopK {
 public:
  explicit GTopK(PutBack put_back) : put_back_(put_back) {}

  /// Returns the sum, and the pairs that this rank must restore to its residual. Both are valid
  /// until the next call. All ranks call it with the same k and dimension.
  /// @throws InputError for malformed own pairs, PayloadError for malformed pairs of another rank
  SparseSum run(Transport& transport, SparseView own, std::size_t k, std::size_t dimension,
                float factor);

  /// Computes the expected result of run() from every rank's dense vector, by another algorithm.
  /// For tests and sampled checks. `out` has as many elements as each vector.
  static void expected(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                       std::span<float> out);

 private:
  void receive(Transport& transport, int peer, std::size_t k, std::size_t dimension);
  void drop(const SparsePairs& dropped);

  PutBack put_back_;
  Streams streams_{1};
  Reselection reselection_;
  SparsePairs pairs_, others_, merged_, dropped_, returned_;
  std::vector<std::byte> message_;
  SparseArrays sum_, back_;
};

struct OkTopKOptions {
  std::size_t regions = 64;     ///< calls between two new splits of the indices (tau)
  std::size_t thresholds = 32;  ///< calls between two new global thresholds (tau')
  std::size_t at_once = 4;      ///< peers sent to at a time
  double imbalance = 4;         ///< balance before the all-gather where the greatest block is
                                ///< over so many times the mean
  bool adapt = false;           ///< as the published code: the threshold / 1.008 below 2k/3
                                ///< selected, * 1.008 above 4k/3
  /// A call that selects more than drift * k or less than k / drift elements makes the next call
  /// find a new threshold; 0: never, as in the paper.
  double drift = 0;
};

/// Sparse all-reduce with a balanced split of the indices and one global threshold: Ok-Topk (Li and
/// Hoefler, PPoPP 2022, alg. 1). A call has four steps:
///  1. Only in every `regions`-th call: every rank cuts its own pairs into n equal ranges. The
///     means over ranks of these ranges' first indices become the first indices of n regions, one
///     for each rank.
///  2. Split and reduce: rank r receives the pairs of region r from all other ranks and adds them
///     up in the order of ranks. Every rank sends to the next rank first, then to the rank after
///     it, and so on.
///  3. Only in every `thresholds`-th call: the k-th greatest magnitude of all sums becomes the
///     global threshold.
///  4. Sums that reach the threshold are selected, balanced over the ranks if they are uneven, and
///     all-gathered.
/// A rank restores to its residual its own pairs whose index was not selected. No pair is dropped
/// earlier, so nothing is lost.
class OkTopK {
 public:
  explicit OkTopK(const OkTopKOptions& options) : options_(options), streams_(options.at_once) {}

  /// Returns the sum, and the pairs that this rank must restore to its residual. Both are valid
  /// until the next call. All ranks call it with the same k and dimension. If k changes, the ranks
  /// find a new threshold; if the dimension changes, they find new regions. @throws InputError for
  /// malformed own pairs, PayloadError for malformed pairs of another rank
  SparseSum run(Transport& transport, SparseView own, std::size_t k, std::size_t dimension,
                float factor);

  /// Computes the expected result of the last run() from every rank's dense vector. Sums the
  /// vectors in the order of ranks, and selects the sums that reach the threshold. If that run()
  /// found a new threshold, the threshold is computed again from the sums.
  void expected(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                std::span<float> out) const;

  /// Returns the regions' first indices, then the dimension; for tests.
  std::span<const std::uint32_t> regions() const { return begins_; }

 private:
  void split_regions(Transport& transport, std::size_t dimension);
  void reduce_own_region(Transport& transport);
  void find_threshold(Transport& transport, std::size_t k);
  void gather_selected(Transport& transport, std::size_t dimension);
  /// Sets counts_ to every rank's count, each at most the size of the rank's region.
  void share_count(Transport& transport, std::size_t count);
  /// Sends this rank's selected pairs to the ranks that contribute them to the all-gather.
  void balance(Transport& transport, std::span<const SparsePair> own);

  OkTopKOptions options_;
  Streams streams_;
  BlockGather gather_;
  Reselection reselection_;
  std::uint64_t calls_ = 0;
  std::size_t k_ = 0;                  ///< of the last call
  std::vector<std::uint32_t> begins_;  ///< of the regions, n + 1
  float threshold_ = 0;                ///< of magnitudes, for the next call
  float used_ = 0;                     ///< the threshold of the last call
  bool found_anew_ = false;            ///< whether the last call found a new threshold
  bool stale_ = false;                 ///< whether the threshold must be found anew, by `drift`
  SparsePairs own_, sums_, merged_, others_, result_, returned_;
  std::vector<std::byte> outgoing_;               ///< framed messages
  std::vector<std::vector<std::byte>> incoming_;  ///< by rank
  std::vector<std::uint32_t> shared_;
  std::vector<std::size_t> sizes_, counts_;
  std::vector<std::int32_t> keys_;
  SparseArrays sum_, back_;
};

/// The common part of sparse collectives: a ring all-reduce over the same transport for dense
/// arrays, such as small tensors that are sent uncompressed; and mean_count().
class SparseCollective : public FlowAllReduce, public SparseAllReduce {
 public:
  explicit SparseCollective(std::unique_ptr<Transport> transport)
      : FlowAllReduce(std::move(transport), ring_all_reduce) {}

  std::size_t mean_count(std::size_t own, std::size_t dimension) override {
    return mean_count_.run(transport(), own, dimension);
  }

 private:
  MeanCount mean_count_;
};

/// Returns the bytes of a framed message of so many pairs.
inline std::size_t framed_pairs_bytes(std::size_t pairs) {
  return kStreamLengthBytes + pairs * sizeof(SparsePair);
}
inline Volume framed_pairs(std::size_t pairs) { return plain_message(framed_pairs_bytes(pairs)); }

}  // namespace thinpipe
