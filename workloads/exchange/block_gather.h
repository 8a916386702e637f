// All-gather of blocks whose sizes all ranks know, in few steps.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/exchange/streams.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

/// Bruck's algorithm (Bruck et al., 1997): in step s = 0, 1, ... of ceil(log2 n) a rank sends the
/// min(2^s, n - 2^s) blocks that it has from its own on to the rank 2^s to the left, and receives
/// as many from the right. Any number of ranks. Of equal blocks every rank sends and receives
/// (n-1)/n of the whole; a block greater than the others is sent by its rank in every step.
class BlockGather {
 public:
  /// `blocks` are those of all ranks in order, without gaps, `sizes` bytes each; a rank's own is
  /// there before, all are after.
  void run(Transport& transport, std::span<const std::size_t> sizes, std::span<std::byte> blocks);

 private:
  Streams streams_{1};
  std::vector<std::byte> rotated_;   ///< own block first
  std::vector<std::size_t> begins_;  ///< in rotated_, and the end
};

}  // namespace thinpipe
