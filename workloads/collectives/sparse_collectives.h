// The common part of the collectives `gtopk` and `oktopk`; and Ok-Topk.
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

/// The common part of sparse collectives: a ring all-reduce over the same transport for dense
/// arrays, such as small tensors that are sent uncompressed; mean_count(); and results.
class SparseCollective : public FlowAllReduce, public SparseAllReduce {
 public:
  explicit SparseCollective(std::unique_ptr<Transport> transport)
      : FlowAllReduce(std::move(transport), ring_all_reduce) {}

  std::size_t mean_count(std::size_t own, std::size_t dimension) override {
    return mean_count_.run(transport(), own, dimension);
  }

 protected:
  /// Returns a result: the factor times the pairs of `sum`, and the pairs to be restored.
  SparseSum sum_of(const SparsePairs& sum, float factor, const SparsePairs& returned) {
    sum_.assign(sum, factor);
    back_.assign(returned, 1.0F);
    return {sum_.view(), back_.view()};
  }

 private:
  MeanCount mean_count_;
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
class OkTopK : public SparseCollective {
 public:
  OkTopK(std::unique_ptr<Transport> transport, const OkTopKOptions& options)
      : SparseCollective(std::move(transport)),
        n_(static_cast<std::size_t>(this->transport().size())),
        rank_(static_cast<std::size_t>(this->transport().rank())),
        options_(options),
        streams_(options.at_once) {}

  /// If k changes, the ranks find a new threshold; if the dimension changes, they find new regions.
  SparseSum sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                              float factor) override;

  /// Sums the vectors in the order of ranks, and selects the sums that reach the threshold. If the
  /// last sparse_all_reduce() found a new threshold, the threshold is computed again from the sums.
  void expected_sparse(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                       std::span<float> out) const override;

  /// Returns the regions' first indices, then the dimension; for tests.
  std::span<const std::uint32_t> regions() const { return begins_; }

 private:
  void split_regions(std::size_t dimension);
  void reduce_own_region();
  void find_threshold(std::size_t k);
  void gather_selected(std::size_t dimension);
  /// All-gathers the elements of `all`, of which each rank has as many as counts_ tells.
  template <class T>
  void gather(std::vector<T>& all);
  /// Sets counts_ to every rank's count, each at most the size of the rank's region.
  void share_count(std::size_t count);
  /// Sends this rank's selected pairs to the ranks that contribute them to the all-gather.
  void balance(std::span<const SparsePair> own);

  std::size_t n_, rank_;  ///< of the transport
  OkTopKOptions options_;
  Streams streams_;
  BlockGather gather_;
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
};

/// Returns the bytes of a framed message of so many pairs.
inline std::size_t framed_pairs_bytes(std::size_t pairs) {
  return kStreamLengthBytes + pairs * sizeof(SparsePair);
}
inline Volume framed_pairs(std::size_t pairs) { return plain_message(framed_pairs_bytes(pairs)); }

}  // namespace thinpipe
