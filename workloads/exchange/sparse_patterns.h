// The sparse all-reduces gTop-k and Ok-Topk, and their patterns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "workloads/exchange/flows.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/sparse_pairs.h"
#include "workloads/exchange/streams.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

/// The rank that takes back what a merge has dropped.
enum class PutBack {
  /// The rank that dropped it, whoever sent it: nothing is lost over all ranks.
  kDropper,
  /// As in the paper, every rank takes back its own pairs whose index is not in the result. Values
  /// dropped on the way are lost where others brought their index to the root.
  kSender,
};

/// Sparse all-reduce by a tree of top-k merges: gTop-k S-SGD (Shi et al., ICDCS 2019, alg. 3): in
/// round s of ceil(log2 n) every rank that is an odd multiple of 2^s sends its pairs to the one 2^s
/// below, which adds them to its own and keeps the k of the greatest magnitudes; rank 0 ends with
/// the result, which goes back down the same tree. Any number of ranks. A rank's own pairs are cut
/// to k before, so that no message is longer than 8 + 8k bytes.
///
/// A round must have ended before the next begins, since the k greatest are known at its end only:
/// a link is busy one way at a time, and idle where a rank waits for its turn. That is the
/// algorithm's nature, and why it is for few pairs.
class GTopK {
 public:
  explicit GTopK(PutBack put_back) : put_back_(put_back) {}

  /// All ranks call it with the same k and dimension. Valid until the next call.
  /// @throws InputError for own pairs, PayloadError for others' that do not fit.
  SparseSum run(Transport& transport, SparseView own, std::size_t k, std::size_t dimension,
                float factor);

  /// Computes the result of run() from every rank's vector in full: plainly, by another way. For
  /// tests and sampled checks. `out` has as many elements as each of the vectors.
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
  double imbalance = 4;         ///< balance before the gathering where the greatest block is
                                ///< over so many times the mean
  bool adapt = false;           ///< as the published code: the threshold / 1.008 below 2k/3
                                ///< selected, * 1.008 above 4k/3
  /// The next call finds a new threshold after one that selected over so many times k, or under
  /// one in so many; 0: never, as in the paper.
  double drift = 0;
};

/// Sparse all-reduce with a balanced split of the indices and one global threshold: Ok-Topk (Li and
/// Hoefler, PPoPP 2022, alg. 1). Every call:
///  1. each `regions`-th: every rank cuts its own pairs into n equal parts, and the means over
///     ranks of where these begin become the regions of all;
///  2. split and reduce: rank r gets from all others the pairs of region r, each from its right
///     neighbours in turn, and adds them up in the order of ranks;
///  3. each `thresholds`-th: the k-th greatest magnitude of all sums becomes the global threshold;
///  4. sums that reach the threshold are selected, evened out over the ranks where they are uneven,
///     and gathered by all.
/// A rank takes back its pairs whose index was not selected. Nothing was dropped before, so nothing
/// is lost.
class OkTopK {
 public:
  explicit OkTopK(const OkTopKOptions& options) : options_(options), streams_(options.at_once) {}

  /// All ranks call it with the same k and dimension; another one than before makes them find a
  /// threshold, or regions, anew. Valid until the next call.
  /// @throws InputError for own pairs, PayloadError for what others sent that does not fit.
  SparseSum run(Transport& transport, SparseView own, std::size_t k, std::size_t dimension,
                float factor);

  /// Computes the result of the last run() from every rank's vector in full: sums in the order of
  /// ranks, selected by the threshold, which is found anew where that call did.
  void expected(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                std::span<float> out) const;

  /// Where the regions begin, and the dimension; for tests.
  std::span<const std::uint32_t> regions() const { return begins_; }

 private:
  void split_regions(Transport& transport, std::size_t dimension);
  void reduce_own_region(Transport& transport);
  void find_threshold(Transport& transport, std::size_t k);
  void gather_selected(Transport& transport, std::size_t dimension);
  /// counts_ becomes every rank's count, each at most its region's size.
  void share_count(Transport& transport, std::size_t count);
  /// Moves own pairs, at their place before, to the ranks that the gathering takes them from.
  void balance(Transport& transport, std::span<const SparsePair> own);

  OkTopKOptions options_;
  Streams streams_;
  BlockGather gather_;
  Reselection reselection_;
  std::uint64_t calls_ = 0;
  std::size_t k_ = 0;                  ///< of the last call
  std::vector<std::uint32_t> begins_;  ///< of the regions, n + 1
  float threshold_ = 0;                ///< of magnitudes, for the next call
  float used_ = 0;                     ///< in the last call
  bool found_anew_ = false;            ///< in the last call
  bool stale_ = false;                 ///< the threshold, by `drift`
  SparsePairs own_, sums_, merged_, others_, result_, returned_;
  std::vector<std::byte> outgoing_;               ///< framed messages
  std::vector<std::vector<std::byte>> incoming_;  ///< by rank
  std::vector<std::uint32_t> shared_;
  std::vector<std::size_t> sizes_, counts_;
  std::vector<std::int32_t> keys_;
  SparseArrays sum_, back_;
};

/// The rest of a sparse pattern: a ring for dense arrays, such as small tensors that are sent
/// as they are, over the same transport; and a k where ranks know it of their own elements only.
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

/// A framed message of so many pairs.
inline std::size_t framed_pairs_bytes(std::size_t pairs) {
  return kStreamLengthBytes + pairs * sizeof(SparsePair);
}
inline Volume framed_pairs(std::size_t pairs) { return plain_message(framed_pairs_bytes(pairs)); }

}  // namespace thinpipe
