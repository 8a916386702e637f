// Messages of any length to and from several ranks at a time, cut into segments that flow side by
// side; and the small all-gathers that sparse patterns make of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/exchange/transport.h"

namespace thinpipe {

/// A framed message begins with the length of what follows, a little-endian u64: receivers need not
/// know it.
inline constexpr std::size_t kStreamLengthBytes = sizeof(std::uint64_t);

/// Returns the content of a framed message, without its length.
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

/// All-gather of blocks whose sizes all ranks know, in few steps.
///
/// Bruck's algorithm (Bruck et al., 1997): in step s = 0, 1, ... of ceil(log2 n) a rank sends the
/// min(2^s, n - 2^s) blocks that it has from its own on to the rank 2^s to the left, and receives
/// as many from the right. Any number of ranks. With equal blocks every rank sends and receives
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

/// A number that all ranks must know alike, where each brings another one: how many elements a rank
/// brings on average. That is what k is where compressors have no target. All
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
