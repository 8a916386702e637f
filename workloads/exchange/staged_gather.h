// An all-gather of messages that lie elsewhere, as on a GPU: what is sent comes here while it is
// sent, and what arrives leaves while more arrives.
#pragma once

#include <cstddef>
#include <span>

namespace thinpipe {

/// This rank's end of it. All of it is called by the thread that exchanges.
class StagedGather {
 public:
  virtual ~StagedGather() = default;

  /// The own message, of which the first ready() bytes are here.
  virtual std::span<const std::byte> own() const = 0;
  /// Never less than before; all of it without anybody's doing in the end.
  virtual std::size_t ready() = 0;
  /// A rank's message is here as a whole, and stays until the pattern's next all-gather. The own
  /// one may be among them.
  virtual void arrived(int rank, std::span<const std::byte> message) = 0;
};

}  // namespace thinpipe
