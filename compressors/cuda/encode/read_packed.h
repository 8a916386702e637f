// Reads blocks of 128 gaps (packed_positions.h).
#pragma once

#include <cstdint>

#include "compressors/cuda/encode/packed_hops.h"

namespace thinpipe::cuda {

/// Does the work of PassStates, by hops. Grid: the maximum number of segments.
struct PassPacked {
  static constexpr int kThreads = static_cast<int>(PackedStream::kStates);
  static_assert(PackedStream::kSegments == 1);
  struct Shared {
    PackedHops hops;
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared, const DecodeJob& job) const {
    PayloadParts parts = job.payload.open();
    const PackedStream stream(job.payload, parts);
    if (parts.problem != PayloadProblem::kNone) {
      block.each([&](int t) {
        if (t == 0) tell(block, job, parts.problem);
      });
      return;
    }
    const std::uint32_t segment = block.index();
    if (segment >= stream.segments()) return;
    typename Block::template Local<Passed> passed;
    block.each([&](int t) { passed[t] = {0, 0, static_cast<std::uint32_t>(t)}; });
    each_packed_part(stream, segment, [&](std::uint32_t first, std::uint32_t size) {
      shared.hops.begin(block, stream, first, size);
      const std::uint32_t which = shared.hops.run(block, size, [](std::uint32_t) {});
      block.each([&](int t) {
        if (t < static_cast<int>(PackedStream::states())) shared.hops.pass(which, size, passed[t]);
      });
    });
    const StateWorkspace<PackedStream> states{job.passed, stream.segments()};
    block.each([&](int t) {
      if (t >= static_cast<int>(PackedStream::states())) return;
      states.of_segment(segment)[t] = passed[t];
      states.of_block(segment)[t] = passed[t];
    });
  }
};

/// Finds where blocks of gaps begin. Runs after JoinStates, which finds the byte at which each
/// segment's first own block begins. Marks this byte, then the first bytes of the blocks that
/// follow. Each doubling of the hops doubles the number of marked bytes. Grid: as PassPacked.
struct FindPacked {
  static constexpr int kThreads = 512;
  static constexpr std::uint32_t kEach = PackedHops::kBytes / kThreads;
  static constexpr std::uint16_t kUnmarked = 0xffff;
  struct Shared {
    PackedHops hops;
    std::uint16_t ranks[PackedHops::kBytes];  ///< rank of a block in the part, at its first byte
    Passed before;
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared, const DecodeJob& job) const {
    PayloadParts parts = job.payload.open();
    const PackedStream stream(job.payload, parts);
    if (parts.problem != PayloadProblem::kNone || *job.problem != 0) return;
    const std::uint32_t segment = block.index();
    if (segment >= stream.segments()) return;
    block.each([&](int t) {
      const StateWorkspace<PackedStream> states{job.passed, stream.segments()};
      if (t == 0) shared.before = passed_before(states, segment);
    });
    each_packed_part(stream, segment, [&](std::uint32_t first, std::uint32_t size) {
      block.each([&](int t) {
        const std::uint32_t state = shared.before.state;
        const std::uint32_t entry = state == PackedStream::kStuck ? size : state;
        for (auto i = static_cast<std::uint32_t>(t); i < size; i += kThreads)
          shared.ranks[i] = i == entry ? 0 : kUnmarked;
      });
      shared.hops.begin(block, stream, first, size);
      const std::uint32_t last = shared.hops.run(
          block, size, [&](std::uint32_t which) { mark(block, shared, which, size); });
      block.each([&](int t) {
        for (auto i = static_cast<std::uint32_t>(t); i < size; i += kThreads) {
          if (shared.ranks[i] == kUnmarked) continue;
          const std::uint32_t at = shared.before.count + shared.ranks[i];
          const std::uint32_t width = stream.payload.byte_at(stream.begin + first + i);
          if (width <= kMaxWidth && at < stream.blocks) job.begins[at] = first + i;
        }
      });
      block.each([&](int t) {
        if (t == 0) shared.hops.pass(last, size, shared.before);
      });
    });
  }

 private:
  /// Marks the targets of all marked bytes: a target's rank is the byte's plus its hops.
  template <class Block>
  THINPIPE_KERNEL static void mark(Block& block, Shared& shared, std::uint32_t which,
                                   std::uint32_t size) {
    typename Block::template Local<std::uint32_t> marked;
    const auto byte_of = [](int t, std::uint32_t j) {
      return j * static_cast<std::uint32_t>(kThreads) + static_cast<std::uint32_t>(t);
    };
    block.each([&](int t) {
      marked[t] = 0;
      for (std::uint32_t j = 0; j < kEach && byte_of(t, j) < size; ++j)
        marked[t] |= std::uint32_t{shared.ranks[byte_of(t, j)] != kUnmarked} << j;
    });
    block.each([&](int t) {
      for (std::uint32_t j = 0; j < kEach; ++j) {
        if ((marked[t] >> j & 1) == 0) continue;
        const std::uint32_t i = byte_of(t, j);
        const std::uint32_t word = shared.hops.words[which][i];
        if (PackedHops::target(word) < size)
          shared.ranks[PackedHops::target(word)] =
              static_cast<std::uint16_t>(shared.ranks[i] + PackedHops::hops(word));
      }
    });
  }
};

/// The gaps of one payload, after FindPacked.
struct PackedGaps {
  const PayloadView& payload;
  const PackedStream& stream;
  const std::uint32_t* begins;
  std::uint32_t count;

  /// Calls body(i, gap) for the positions of a tile that thread t reads.
  /// @returns false if the beginning of their block is unknown or its width is invalid
  template <class Body>
  THINPIPE_KERNEL bool each(std::uint32_t tile, int t, Body body) const {
    const std::uint32_t begin = tile * kTile + static_cast<std::uint32_t>(t) * kLaidEach;
    if (begin >= count) return true;
    const std::uint32_t first = begins[begin / kPackedBlock];
    if (first >= stream.bytes) return false;
    const std::uint32_t at = stream.begin + first;
    const std::uint32_t width = payload.byte_at(at);
    if (width > kMaxWidth) return false;
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    for (std::uint32_t i = begin; i < begin + kLaidEach && i < count; ++i) {
      const std::uint64_t bit =
          std::uint64_t{8} * (at + 1) + std::uint64_t{width} * (i % kPackedBlock);
      body(i, static_cast<std::uint32_t>(payload.bits_at(bit) & mask));
    }
    return true;
  }
  /// Returns whether the last block ends with the payload, padded with zeros.
  THINPIPE_KERNEL bool ends() const {
    if (begins[stream.blocks - 1] >= stream.bytes) return false;
    const std::uint32_t at = stream.begin + begins[stream.blocks - 1];
    const std::uint32_t gaps = count - (stream.blocks - 1) * kPackedBlock;
    const std::uint64_t bits = std::uint64_t{payload.byte_at(at)} * gaps;
    return at + 1 + (bits + 7) / 8 == payload.bytes &&
           payload.bits_at(std::uint64_t{8} * (at + 1) + bits) == 0;
  }
};

/// Without `reads`, adds up the gaps of every tile of kTile positions, and then computes the totals
/// before each tile. With `reads`, a second launch, reads the positions. Grid: the maximum number
/// of tiles.
template <bool reads>
struct ScanPacked {
  static constexpr int kThreads = 512;
  struct Shared {
    Passed parts[kThreads + 1];
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    Passed* const of_tiles = PackedWorkspace::tiles(job);
    PayloadParts parts = payload.open();
    const PackedStream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone || parts.count == 0) return;
    // Without `reads`, all blocks must arrive, even if one of them finds a problem.
    if (reads && *job.problem != 0) return;
    const std::uint32_t tiles = tiles_of(parts.count, kTile);
    const std::uint32_t tile = block.index();
    if (tile >= tiles) return;
    const PackedGaps gaps{payload, stream, job.begins, parts.count};
    // Sums of the gaps' lower and upper halves: each sum of a tile fits into 32 bits.
    typename Block::template Local<std::uint32_t> low;
    typename Block::template Local<std::uint32_t> high;
    block.each([&](int t) {
      bool small = true;
      low[t] = high[t] = 0;
      bool good = gaps.each(tile, t, [&](std::uint32_t /*i*/, std::uint32_t gap) {
        small = small && gap < payload.n;
        low[t] += (gap & 0xffff) + 1;
        high[t] += gap >> 16;
      });
      if (t == 0 && tile == 0) good = good && gaps.ends();
      if (!reads && !(good && small)) tell(block, job, PayloadProblem::kPosition);
    });
    if constexpr (!reads) {
      const std::uint64_t lows = block.sum(low);
      const std::uint64_t highs = block.sum(high);
      block.each([&](int t) {
        if (t == 0) of_tiles[tile] = {lows + (highs << 16), 0, 0};
      });
      if (!block.is_last(job.arrived, tiles)) return;
      const Passed all = join_segments(block, shared.parts, of_tiles, tiles);
      block.each([&](int t) {
        if (t == 0 && all.elements > payload.n) tell(block, job, PayloadProblem::kPosition);
      });
    } else {
      block.prefix(low);
      block.prefix(high);
      block.each([&](int t) {
        std::uint64_t next = of_tiles[tile].elements + low[t] + (std::uint64_t{high[t]} << 16);
        gaps.each(tile, t, [&](std::uint32_t i, std::uint32_t gap) {
          job.positions[i] = static_cast<std::uint32_t>(next + gap);
          next += gap + 1;
        });
      });
    }
  }
};

}  // namespace thinpipe::cuda
