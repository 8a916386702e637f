// Memory for messages whose bytes no one reads: a large range of addresses of which many parts are
// the same few megabytes. A thousand ranks can so have buffers for all of each other's messages.
#pragma once

#include <cstddef>

namespace thinpipe {

/// While this object exists, `new` returns folded memory for arrays of 1 MiB and more: addresses
/// that differ by `period` bytes, or by a multiple of it, are the same memory. `delete` does not
/// free folded memory. One object at a time.
class FoldedAllocations {
 public:
  /// @param period  in bytes, a multiple of 4096
  explicit FoldedAllocations(std::size_t period);
  ~FoldedAllocations();
  FoldedAllocations(const FoldedAllocations&) = delete;
  FoldedAllocations& operator=(const FoldedAllocations&) = delete;
};

}  // namespace thinpipe
