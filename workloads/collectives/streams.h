// Messages of any length to and from several ranks at a time, cut into segments that are
// interleaved; and the small all-gathers of sparse collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/collectives/segments.h"
#include "workloads/collectives/transport.h"

namespace thinpipe {

/// Bytes of the length field of a framed message. A framed message begins with the length of its
/// content, a little-endian u64, so receivers need not know the length in advance.
inline constexpr std::size_t kStreamLengthBytes = sizeof(std::uint64_t);

/// Returns the content of a framed message, without its length.
std::span<const std::byte> framed_content(std::span<const std::byte> message);

/// Collects sends and receives, at most one send to each rank and one receive from each rank, and
/// runs them together.
class Streams {
 public:
  /// @param at_once  the number of messages in flight at a time, in each direction. Messages begin
  /// in the order in which they were added. All ranks add them in matching orders: the i-th send
  /// goes to the i-th rank to the right, the i-th receive comes from the i-th rank to the left. So
  /// the ranks do not all send to one rank at the same time.
  explicit Streams(std::size_t at_once) : at_once_(at_once) {}

  /// Adds a send. `data` stays untouched until run() ends.
  void send(int peer, std::span<const std::byte> data) {
    out_.push_back({.peer = peer, .data = data, .segments = segments_of_bytes(data.size())});
  }
  /// Adds a receive of a message whose length both ranks know, to `room`.
  void receive(int peer, std::span<std::byte> room) {
    in_.push_back({.peer = peer, .room = room, .total = room.size()});
  }
  /// Adds a receive of a framed message whose content has at most `longest` bytes. The message is
  /// stored at the front of `room`, which grows as needed.
  void receive_framed(int peer, std::vector<std::byte>& room, std::size_t longest);

  /// Sends and receives all messages that were added, and forgets them.
  /// @throws PayloadError for a framed message of impossible length, and for an unframed message
  /// whose length is not the expected one
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
    std::vector<std::byte>* framed = nullptr;  ///< its buffer, until the length is known
    std::size_t longest = 0;
    std::size_t posted = 0, arrived = 0;  ///< segments
    std::size_t segments() const { return framed != nullptr ? 1 : segments_of_bytes(total); }
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
/// Bruck's algorithm (Bruck et al., 1997), for any number of ranks, in ceil(log2 n) steps s = 0, 1,
/// ... In step s a rank sends min(2^s, n - 2^s) blocks, its own and those of the ranks after it, to
/// the rank 2^s to the left. It receives the same number of blocks from the rank 2^s to the right.
/// With equal blocks every rank sends and receives (n-1)/n of the whole. A rank sends its own block
/// in every step, even if that block is the largest.
class BlockGather {
 public:
  /// All-gathers one block of each rank into `blocks`, in the order of ranks and without gaps. The
  /// block of rank r has sizes[r] bytes. Before the call `blocks` has only this rank's own block,
  /// in its position; after the call it has all blocks.
  void run(Transport& transport, std::span<const std::size_t> sizes, std::span<std::byte> blocks);

 private:
  Streams streams_{1};
  std::vector<std::byte> rotated_;   ///< own block first
  std::vector<std::size_t> begins_;  ///< in rotated_, and the end
};

/// Computes the mean over ranks of the number of elements that each rank has selected. Compressors
/// without a target k use this mean as k. Ranks all-gather their numbers (BlockGather), a u32 each.
class MeanCount {
 public:
  /// Returns the mean over ranks of `own`, rounded up; the same on all ranks.
  /// @throws InputError if `own` is over `most`, PayloadError if another rank's number is
  std::size_t run(Transport& transport, std::size_t own, std::size_t most);

 private:
  BlockGather gather_;
  std::vector<std::uint32_t> counts_;
  std::vector<std::size_t> sizes_;
};

}  // namespace thinpipe
