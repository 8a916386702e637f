// A number that all ranks must know alike, where each brings another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "workloads/exchange/block_gather.h"
#include "workloads/exchange/transport.h"

namespace thinpipe {

/// How many elements a rank brings on average: what k is where compressors have no target. All
/// ranks tell each other theirs (BlockGather), a u32 each.
class MeanCount {
 public:
  /// @returns the mean over ranks, rounded up: the same on all of them
  /// @throws InputError for a number over `most`, PayloadError for another rank's.
  std::size_t run(Transport& transport, std::size_t own, std::size_t most);

 private:
  BlockGather gather_;
  std::vector<std::uint32_t> counts_;
  std::vector<std::size_t> sizes_;
};

}  // namespace thinpipe
