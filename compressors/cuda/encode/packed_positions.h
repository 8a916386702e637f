// Blocks of 128 gaps. A block begins with a byte that holds the number of bits per gap
// (encode/position_codec.cc).
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/laid_positions.h"
#include "compressors/cuda/kernels/state_scan.h"

namespace thinpipe::cuda {

constexpr std::uint32_t kPackedBlock = 128;  ///< gaps
constexpr std::uint32_t kMaxWidth = 32;      ///< bits of a gap
/// Threads per block of gaps.
constexpr std::uint32_t kPackedThreads = kPackedBlock / kLaidEach;

/// Input of ClearPositions.
struct PackedPositions : ConstantCode<PackedPositions> {
  /// Returns the bound of PackedCodec::max_size() for one value of j: a block's greatest gap z
  /// takes at most j + z / 2^j bits.
  THINPIPE_KERNEL static std::uint64_t most(std::uint32_t count, std::uint32_t n) {
    if (count == 0) return 0;
    const std::uint32_t blocks = (count - 1) / kPackedBlock + 1;
    const std::uint32_t j = highest(n / blocks);  // no block has more positions than elements
    return blocks + std::uint64_t{kPackedBlock / 8} * (std::uint64_t{blocks} * j + (n >> j));
  }
};

/// Does for packed positions what LayPositions does for other codes.
struct LayPacked : OnTiles {
  static constexpr int kThreads = 512;
  struct Shared {
    std::uint32_t gaps[kThreads];  ///< bitwise OR of a thread's gaps
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const SentTile tile(jobs, tiles[block.index()]);
    if (tile.index >= tile.tiles()) return;
    const Job& job = tile.job;
    const std::uint32_t begin = tile.begin;
    block.each([&](int t) {
      std::uint32_t all = 0;
      each_gap(t, tile, [&](std::uint32_t /*position*/, std::uint32_t gap) { all |= gap; });
      shared.gaps[t] = all;
    });
    const auto width_of = [&](int t) {
      const std::uint32_t first = static_cast<std::uint32_t>(t) / kPackedThreads * kPackedThreads;
      std::uint32_t all = 0;
      for (std::uint32_t i = first; i < first + kPackedThreads; ++i) all |= shared.gaps[i];
      return all == 0 ? 0 : highest(all) + 1;
    };
    const auto begins = [](int t) { return static_cast<std::uint32_t>(t) % kPackedThreads == 0; };
    typename Block::template Local<std::uint32_t> before;
    block.each([&](int t) {
      std::uint32_t some = 0;
      each_gap(t, tile, [&](std::uint32_t, std::uint32_t) { ++some; });
      before[t] = some * width_of(t) + (begins(t) && some > 0 ? 8 : 0);
    });
    const std::uint32_t own = block.prefix(before);
    const std::uint32_t earlier = block.before(job.states[0], tile.index, {own, 0}).first;
    block.each([&](int t) {
      const std::uint32_t width = width_of(t);
      std::uint64_t bit = std::uint64_t{8} * begin + earlier + before[t];
      bool first = begins(t);
      each_gap(t, tile, [&](std::uint32_t /*position*/, std::uint32_t gap) {
        if (first) {
          lay(block, job.payload, bit, width);
          bit += 8;
          first = false;
        }
        lay(block, job.payload, bit, gap);
        bit += width;
      });
      if (t == 0 && tile.index + 1 == tile.tiles())
        job.findings->encoded = begin + (earlier + own + 7) / 8;
    });
  }
};

// Reading first finds where the blocks begin: the beginning of a block depends on the first byte of
// every block before it.

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
  THINPIPE_KERNEL void begin(auto& block, const PackedStream& stream, std::uint32_t first,
                             std::uint32_t size) {
    each_of(block, size, [&](std::uint32_t i) {
      const std::uint32_t width = stream.payload.byte_at(stream.begin + first + i);
      words[0][i] = width > kMaxWidth ? kNowhere : (i + PackedStream::length(width)) | 1U << 16;
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
THINPIPE_KERNEL void each_packed_part(const PackedStream& stream, std::uint32_t segment,
                                      auto body) {
  const std::uint32_t begin = segment * PackedStream::kBytes;
  for (std::uint32_t first = begin; first < begin + PackedStream::kBytes && first < stream.bytes;
       first += PackedHops::kBytes) {
    const std::uint32_t left = stream.bytes - first;
    body(first, left < PackedHops::kBytes ? left : PackedHops::kBytes);
  }
}

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
    if (tell_all(block, job, parts.problem)) return;
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

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared, const DecodeJob& job) const {
    PayloadParts parts = job.payload.open();
    const PackedStream stream(job.payload, parts);
    if (parts.problem != PayloadProblem::kNone || *job.problem != 0) return;
    const std::uint32_t segment = block.index();
    if (segment >= stream.segments()) return;
    const StateWorkspace<PackedStream> states{job.passed, stream.segments()};
    once(block, [&] { shared.before = passed_before(states, segment); });
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
      each_of(block, size, [&](std::uint32_t i) {
        if (shared.ranks[i] == kUnmarked) return;
        const std::uint32_t at = shared.before.count + shared.ranks[i];
        const std::uint32_t width = stream.payload.byte_at(stream.begin + first + i);
        if (width <= kMaxWidth && at < stream.blocks) job.begins[at] = first + i;
      });
      once(block, [&] { shared.hops.pass(last, size, shared.before); });
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
  THINPIPE_KERNEL bool each(std::uint32_t tile, int t, auto body) const {
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
/// before each tile. With `reads`, a second launch, decodes the gaps to positions. Grid: a block for
/// each tile of the longest payload that is possible.
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
    typename Block::template Local<std::uint32_t> low, high;
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
      once(block, [&] { of_tiles[tile] = {lows + (highs << 16), 0, 0}; });
      if (!block.is_last(job.arrived, tiles)) return;
      const Passed all = join_segments(block, shared.parts, of_tiles, tiles);
      once(block, [&] {
        if (all.elements > payload.n) tell(block, job, PayloadProblem::kPosition);
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
