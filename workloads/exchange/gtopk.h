// Sparse all-reduce by a tree of top-k merges (gTop-k).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/exchange/sparse_pairs.h"
#include "workloads/exchange/streams.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

/// Who takes back what a merge has dropped.
enum class PutBack {
  /// The rank that dropped it, whoever sent it: nothing is lost over all ranks.
  kDropper,
  /// As in the paper every rank its own pairs whose index is not in the result. What was dropped on
  /// the way of an index that others brought to the root is lost.
  kSender,
};

/// gTop-k S-SGD (Shi et al., ICDCS 2019, alg. 3): in round s of ceil(log2 n) every rank that is an
/// odd multiple of 2^s sends its pairs to the one 2^s below, which adds them to its own and keeps
/// the k of the greatest magnitudes; rank 0 ends with the result, which goes back down the same
/// tree. Any number of ranks. A rank's own pairs are cut to k before, so that no message is longer
/// than 8 + 8k bytes.
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

  /// What run() ends with, from every rank's vector in full: plainly, by another way. For tests and
  /// sampled checks. `out` has as many elements as each of the vectors.
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

}  // namespace thinpipe
