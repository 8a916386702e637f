// Finds where a payload's blocks of gaps begin (packed_positions.h). The beginning of a block
// depends on the first byte of every block before it.
#pragma once

#include <cstdint>

#include "compressors/cuda/encode/packed_positions.h"
#include "compressors/cuda/kernels/state_scan.h"

namespace thinpipe::cuda {

/// The packed blocks of gaps of one payload, as a stream for state_scan.h. A segment may begin with
/// the end of a block from an earlier segment. The segment's state is the byte at which its first
/// own block begins.
struct PackedStream {
  static constexpr std::uint32_t kStuck = kPackedBlock / 8 * kMaxWidth + 1;  ///< invalid width
  static constexpr std::uint32_t kStates = 544;
  static_assert(kStuck < kStates);
  static constexpr std::uint32_t kSegments = 1;
  static constexpr std::uint32_t kBytes = 16384;  ///< of a segment

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
  THINPIPE_KERNEL std::uint32_t segments() const { return (bytes + kBytes - 1) / kBytes; }
  THINPIPE_KERNEL static std::uint32_t states() { return kStuck + 1; }
  /// ScanPacked checks where the last block ends.
  THINPIPE_KERNEL bool good(const PayloadParts& /*parts*/, const Passed& all) const {
    return all.count >= blocks;
  }

  /// Returns the bytes of a block whose gaps have `width` bits.
  THINPIPE_KERNEL static std::uint32_t length(std::uint32_t width) {
    return 1 + kPackedBlock / 8 * width;
  }
};

/// Layout of the workspace DecodeJob::passed for the kernels that read packed blocks of gaps. The
/// workspace DecodeJob::begins holds the byte at which each block begins.
struct PackedWorkspace {
  /// Returns the maximum number of segments.
  THINPIPE_BOTH static std::uint32_t segments(const PayloadView& payload) {
    return payload.bytes / PackedStream::kBytes + 1;
  }
  THINPIPE_BOTH static std::size_t of_states(const PayloadView& payload) {
    return StateWorkspace<PackedStream>::entries(segments(payload));
  }
  /// Returns the totals of the tiles of kTile positions, stored after the states of all segments.
  THINPIPE_KERNEL static Passed* tiles(const DecodeJob& job) {
    return job.passed + of_states(job.payload);
  }
};

/// Finds, for every byte of a part of a segment, where the chain of blocks leaves the part if a
/// block begins at this byte. A hop leads from the beginning of a block to the beginning of the
/// next one. Hops are doubled (one, two, four, ...) until they leave the part.
struct PackedHops {
  static constexpr std::uint32_t kBytes = 4096;      ///< of a part
  static constexpr std::uint32_t kNowhere = 0xffff;  ///< invalid width
  static_assert(PackedStream::kBytes % kBytes == 0 && kBytes + PackedStream::kStuck < kNowhere);

  /// Lower half: each byte's target, counted from the part's first byte. Upper half: number of
  /// hops.
  std::uint32_t words[2][kBytes];

  THINPIPE_KERNEL static std::uint32_t target(std::uint32_t word) { return word & 0xffff; }
  THINPIPE_KERNEL static std::uint32_t hops(std::uint32_t word) { return word >> 16; }

  /// Sets one hop for each byte of a part of `size` bytes from byte `first` of the stream.
  template <class Block>
  THINPIPE_KERNEL void begin(Block& block, const PackedStream& stream, std::uint32_t first,
                             std::uint32_t size) {
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < size; i += Block::kSize) {
        const std::uint32_t width = stream.payload.byte_at(stream.begin + first + i);
        words[0][i] = width > kMaxWidth ? kNowhere : (i + PackedStream::length(width)) | 1U << 16;
      }
    });
  }
  /// Doubles the hops until all of them leave the part. Calls before(which) ahead of each doubling.
  /// At that point words[which] holds, for each byte, the result of 1, 2, 4, ... hops.
  /// @returns the index into words[] of the result
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
  /// Advances a state from this part to the next.
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

/// Calls body(first, size) for each part of a segment.
template <class Body>
THINPIPE_KERNEL void each_packed_part(const PackedStream& stream, std::uint32_t segment,
                                      Body body) {
  const std::uint32_t begin = segment * PackedStream::kBytes;
  for (std::uint32_t first = begin; first < begin + PackedStream::kBytes && first < stream.bytes;
       first += PackedHops::kBytes) {
    const std::uint32_t left = stream.bytes - first;
    body(first, left < PackedHops::kBytes ? left : PackedHops::kBytes);
  }
}

}  // namespace thinpipe::cuda
