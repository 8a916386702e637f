// Where the blocks of gaps of a payload begin (packed_positions.h): only those before a block tell,
// and each by its first byte alone.
#pragma once

#include <cstdint>

#include "compressors/cuda/encode/packed_positions.h"
#include "compressors/cuda/kernels/state_scan.h"

namespace thinpipe::cuda {

/// Where a payload's blocks begin. A stretch may begin with the rest of an earlier block: a state
/// is the byte at which its first own block begins.
struct PackedStream {
  static constexpr std::uint32_t kStuck = kPackedBlock / 8 * kMostWidth + 1;  ///< no such width
  static constexpr std::uint32_t kStates = 544;
  static_assert(kStuck < kStates);
  static constexpr std::uint32_t kStretches = 1;
  static constexpr std::uint32_t kBytes = 16384;  ///< of a stretch

  const PayloadView& payload;
  std::uint32_t begin = 0;
  std::uint32_t bytes = 0;
  std::uint32_t blocks = 0;

  THINPIPE_KERNEL PackedStream(const PayloadView& of, PayloadParts& parts) : payload(of) {
    if (parts.problem != PayloadProblem::kNone) return;
    begin = parts.positions;
    bytes = payload.bytes - begin;
    blocks = (parts.count + kPackedBlock - 1) / kPackedBlock;
    if ((blocks == 0) != (bytes == 0)) parts.problem = PayloadProblem::kLength;
  }
  THINPIPE_KERNEL static PayloadView view_of(const DecodeJob& job) { return job.payload; }
  THINPIPE_KERNEL std::uint32_t stretches() const { return (bytes + kBytes - 1) / kBytes; }
  THINPIPE_KERNEL static std::uint32_t states() { return kStuck + 1; }
  /// Where the last one ends SumPacked looks at.
  THINPIPE_KERNEL bool good(const PayloadParts& /*parts*/, const Passed& all) const {
    return all.count >= blocks;
  }

  /// Bytes of a block.
  THINPIPE_KERNEL static std::uint32_t length(std::uint32_t width) {
    return 1 + kPackedBlock / 8 * width;
  }
};

/// Workspace of the kernels that read such a payload. DecodeJob::begins has room for each block's
/// byte of the stream.
struct PackedRoom {
  /// Stretches that there may be.
  THINPIPE_BOTH static std::uint32_t stretches(const PayloadView& payload) {
    return payload.bytes / PackedStream::kBytes + 1;
  }
  THINPIPE_BOTH static std::size_t of_states(const PayloadView& payload) {
    return StateRoom<PackedStream>::entries(stretches(payload));
  }
  /// One for each kTile positions, behind the states of all stretches.
  THINPIPE_KERNEL static Passed* tiles(const DecodeJob& job) {
    return job.passed + of_states(job.payload);
  }
};

/// Where blocks lead in a part of a stretch, from every byte at once: a hop from where a block
/// begins to where the next one would, then two, then four, as far as they stay within.
struct PackedHops {
  static constexpr std::uint32_t kBytes = 4096;      ///< of a part
  static constexpr std::uint32_t kNowhere = 0xffff;  ///< no such width
  static_assert(PackedStream::kBytes % kBytes == 0 && kBytes + PackedStream::kStuck < kNowhere);

  /// Each byte's target, counted from the part's first byte, and above it the number of hops.
  std::uint32_t words[2][kBytes];

  THINPIPE_KERNEL static std::uint32_t target(std::uint32_t word) { return word & 0xffff; }
  THINPIPE_KERNEL static std::uint32_t hops(std::uint32_t word) { return word >> 16; }

  /// One hop each, of a part of `size` bytes from byte `first` of the stream.
  template <class Block>
  THINPIPE_KERNEL void begin(Block& block, const PackedStream& stream, std::uint32_t first,
                             std::uint32_t size) {
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < size; i += Block::kSize) {
        const std::uint32_t width = stream.payload.byte_at(stream.begin + first + i);
        words[0][i] = width > kMostWidth ? kNowhere : (i + PackedStream::length(width)) | 1U << 16;
      }
    });
  }
  /// Doubles the hops until all have left the part. before(which) sees those of a power of two.
  /// @returns which of words[] has them
  template <class Block, class Before>
  THINPIPE_KERNEL std::uint32_t run(Block& block, std::uint32_t size, Before before) {
    std::uint32_t which = 0;
    for (std::uint32_t within = 1; within > 0; which = 1 - which) {
      before(which);
      typename Block::template Local<std::uint32_t> left;
      block.each([&](int t) {
        left[t] = 0;
        for (auto i = static_cast<std::uint32_t>(t); i < size; i += Block::kSize) {
          std::uint32_t word = words[which][i];
          if (target(word) < size) {
            const std::uint32_t next = words[which][target(word)];
            word = target(next) | (hops(word) + hops(next)) << 16;
            left[t] += target(word) < size ? 1 : 0;
          }
          words[1 - which][i] = word;
        }
      });
      within = block.sum(left);
    }
    return which;
  }
  /// Goes on to the next part from a state within this one.
  THINPIPE_KERNEL void pass(std::uint32_t which, std::uint32_t size, Passed& passed) const {
    if (passed.state == PackedStream::kStuck) return;
    if (passed.state >= size) {
      passed.state -= size;
      return;
    }
    const std::uint32_t word = words[which][passed.state];
    passed.count += hops(word);
    passed.state = target(word) == kNowhere ? PackedStream::kStuck : target(word) - size;
  }
};

/// Calls body(first, size) for the parts of a stretch.
template <class Body>
THINPIPE_KERNEL void each_packed_part(const PackedStream& stream, std::uint32_t stretch,
                                      Body body) {
  const std::uint32_t begin = stretch * PackedStream::kBytes;
  for (std::uint32_t first = begin; first < begin + PackedStream::kBytes && first < stream.bytes;
       first += PackedHops::kBytes) {
    const std::uint32_t left = stream.bytes - first;
    body(first, left < PackedHops::kBytes ? left : PackedHops::kBytes);
  }
}

}  // namespace thinpipe::cuda
