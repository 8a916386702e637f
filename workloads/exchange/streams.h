// Messages of any length to and from several ranks at a time, cut into segments that flow side by
// side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "workloads/exchange/transport.h"

namespace thinpipe {

/// A framed message begins with the length of what follows, a little-endian u64: receivers need not
/// know it.
inline constexpr std::size_t kStreamLengthBytes = sizeof(std::uint64_t);

/// What follows the length in a framed message.
std::span<const std::byte> framed_content(std::span<const std::byte> message);

/// Collects sends and receives, at most one to and one from a rank, then runs all of them.
class Streams {
 public:
  /// @param at_once  how many messages each way are under way at a time, in the order in which they
  /// were added; ranks that add theirs in matching orders (the i-th rank to the right, the i-th
  /// from the left) then meet, and no rank is sent to by all others at the same time.
  explicit Streams(std::size_t at_once) : at_once_(at_once) {}

  /// `data` stays untouched until run() ends.
  void send(int peer, std::span<const std::byte> data);
  /// Room for a message whose length both ends know.
  void receive(int peer, std::span<std::byte> room);
  /// A framed message of at most `longest` bytes after its length, to the front of `room`, which
  /// grows where it must.
  void receive_framed(int peer, std::vector<std::byte>& room, std::size_t longest);

  /// Sends and receives everything that was added, and forgets it.
  /// @throws PayloadError when a framed message's length is impossible, or one of known length
  /// comes with another.
  void run(Transport& transport);

 private:
  struct Out {
    int peer;
    std::span<const std::byte> data;
    std::size_t segments, sent = 0, done = 0;
  };
  struct In {
    int peer;
    std::span<std::byte> room;
    std::size_t total;  ///< bytes; of a framed one known by its first segment
    std::vector<std::byte>* framed = nullptr;  ///< its room, until the length is known
    std::size_t longest = 0;
    std::size_t posted = 0, arrived = 0;  ///< segments
    std::size_t segments() const;
  };

  bool progress(Transport& transport, In& in, int first_slot);
  bool progress(Transport& transport, Out& out, int first_slot);
  void arrived(In& in, std::size_t size);

  std::size_t at_once_;
  std::vector<Out> out_;
  std::vector<In> in_;
};

}  // namespace thinpipe
