// All-gather of messages of different sizes on a ring, cut into segments that are passed on at
// once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/exchange/ring_all_reduce.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

/// Every rank ends with every rank's message: the pipelined ring all-gather-v of Variance-based
/// Gradient Compression, section 5, which takes at most (sum of n_i + (p-1) m) beta. No sizes are
/// exchanged beforehand: the first segment of a message starts with its length, so small messages
/// cost one trip round the ring and no more.
class RingAllGather {
 public:
  /// @param capacity  the longest message any rank may send, in bytes
  RingAllGather(int ranks, std::size_t capacity);

  /// @returns one span per rank, valid until the next run. A rank's own is a copy too.
  /// @throws InputError when a peer announces a message longer than the capacity.
  const std::vector<std::span<const std::byte>>& run(Transport& transport,
                                                     std::span<const std::byte> own);

 private:
  std::span<std::byte> framed(std::size_t rank) {
    return std::span(arena_).subspan(rank * stride_, stride_);
  }

  std::size_t capacity_, stride_;
  std::vector<std::byte> arena_;  ///< per rank: 8 bytes of length, then the message
  std::vector<std::byte> staging_;
  std::vector<std::span<const std::byte>> messages_;
};

}  // namespace thinpipe
