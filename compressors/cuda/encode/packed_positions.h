// Blocks of 128 gaps, of which each has a byte that tells how many bits its gaps take
// (encode/packed.cc), written and read.
#pragma once

#include <cstdint>

#include "compressors/cuda/encode/laid_positions.h"
#include "compressors/cuda/encode/state_scan.h"

namespace thinpipe::cuda {

constexpr std::uint32_t kPackedBlock = 128;  ///< gaps
constexpr std::uint32_t kMostWidth = 32;     ///< bits of a gap
/// Threads that have a block between them.
constexpr std::uint32_t kPackedThreads = kPackedBlock / kLaidEach;

/// What ClearPositions must know.
struct PackedPositions {
  THINPIPE_KERNEL static PackedPositions of(const Job& /*job*/, std::uint32_t /*count*/) {
    return {};
  }
  /// By PackedCodec::max_size() for one j: a block's greatest gap z takes j + z / 2^j bits at most.
  THINPIPE_KERNEL static std::uint64_t most(std::uint32_t count, std::uint32_t n) {
    if (count == 0) return 0;
    const std::uint32_t blocks = (count - 1) / kPackedBlock + 1;
    const std::uint32_t j = highest(n / blocks);  // no block has more positions than elements
    return blocks + std::uint64_t{kPackedBlock / 8} * (std::uint64_t{blocks} * j + (n >> j));
  }
};

/// As LayPositions does.
struct LayPacked {
  static constexpr int kThreads = 512;
  struct Shared {
    std::uint32_t gaps[kThreads];  ///< all bits of a thread's
  };

  const Job* jobs;
  const Tile* tiles;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const std::uint32_t count = job.findings->counts[job.sent];
    const std::uint32_t tiles_there = tiles_of(count, kTile);
    if (tile.index >= tiles_there) return;
    const std::uint32_t* const positions = job.chosen_at(job.sent).positions;
    const std::uint32_t begin = positions_at(job.values, count);
    block.each([&](int t) {
      std::uint32_t all = 0;
      each_gap(t, tile, positions, count,
               [&](std::uint32_t /*position*/, std::uint32_t gap) { all |= gap; });
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
      each_gap(t, tile, positions, count, [&](std::uint32_t, std::uint32_t) { ++some; });
      before[t] = some * width_of(t) + (begins(t) && some > 0 ? 8 : 0);
    });
    const std::uint32_t own = block.prefix(before);
    const std::uint32_t earlier =
        block.before(job.states_at(1 - job.sent), tile.index, {own, 0}).first;
    block.each([&](int t) {
      const std::uint32_t width = width_of(t);
      std::uint64_t bit = std::uint64_t{8} * begin + earlier + before[t];
      bool first = begins(t);
      each_gap(t, tile, positions, count, [&](std::uint32_t /*position*/, std::uint32_t gap) {
        if (first) {
          lay(block, job.payload, bit, width);
          bit += 8;
          first = false;
        }
        lay(block, job.payload, bit, gap);
        bit += width;
      });
      if (t == 0 && tile.index + 1 == tiles_there)
        job.findings->encoded = begin + (earlier + own + 7) / 8;
    });
  }
};

/// Where a payload's blocks begin. What the bytes before a stretch leave over to it is the rest of
/// a block: a state is the byte at which its first own block begins.
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

  /// body(i, at): the i-th block begins at a byte of the stream.
  template <class Body>
  THINPIPE_KERNEL void read(std::uint32_t stretch, Passed& passed, Body body) const {
    if (passed.state == kStuck) return;
    const std::uint32_t first = kBytes * stretch;
    const std::uint32_t end = bytes - first < kBytes ? bytes : first + kBytes;
    std::uint32_t at = first + passed.state;
    while (at < end) {
      const std::uint32_t width = payload.byte_at(begin + at);
      if (width > kMostWidth) {
        passed.state = kStuck;
        return;
      }
      body(passed.count, at);
      ++passed.count;
      at += 1 + kPackedBlock / 8 * width;
    }
    passed.state = at - end;
  }
};

/// What the kernels need that read such a payload. DecodeJob::begins has room for each block's byte
/// of the stream.
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

/// Grid: a block for each stretch that there may be.
struct FindPacked {
  static constexpr int kThreads = 32;
  struct Shared {};

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    PayloadParts parts = payload.open();
    const PackedStream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone || *job.problem != 0) return;
    const std::uint32_t stretch = block.index();
    if (stretch >= stream.stretches()) return;
    block.each([&](int t) {
      if (t != 0) return;
      const StateRoom<PackedStream> states{job.passed, stream.stretches()};
      Passed before = passed_before(states, stretch);
      stream.read(stretch, before, [&](std::uint32_t i, std::uint32_t at) {
        if (i < stream.blocks) job.begins[i] = at;
      });
    });
  }
};

/// The gaps of one payload's blocks, whose beginnings are known.
struct PackedGaps {
  const PayloadView& payload;
  const PackedStream& stream;
  const std::uint32_t* begins;
  std::uint32_t count;

  /// Calls body(i, gap) for the positions that are thread t's of a tile. @returns false where they
  /// have no block: it is not known where that begins
  template <class Body>
  THINPIPE_KERNEL bool each(std::uint32_t tile, int t, Body body) const {
    const std::uint32_t begin = tile * kTile + static_cast<std::uint32_t>(t) * kLaidEach;
    if (begin >= count) return true;
    const std::uint32_t there = begins[begin / kPackedBlock];
    if (there >= stream.bytes) return false;
    const std::uint32_t at = stream.begin + there;
    const std::uint32_t width = payload.byte_at(at);
    if (width > kMostWidth) return false;
    const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
    for (std::uint32_t i = begin; i < begin + kLaidEach && i < count; ++i) {
      const std::uint64_t bit =
          std::uint64_t{8} * (at + 1) + std::uint64_t{width} * (i % kPackedBlock);
      body(i, static_cast<std::uint32_t>(payload.bits_at(bit) & mask));
    }
    return true;
  }
  /// Whether the last block ends with the payload, filled up with zeros.
  THINPIPE_KERNEL bool ends() const {
    if (begins[stream.blocks - 1] >= stream.bytes) return false;
    const std::uint32_t at = stream.begin + begins[stream.blocks - 1];
    const std::uint32_t gaps = count - (stream.blocks - 1) * kPackedBlock;
    const std::uint64_t bits = std::uint64_t{payload.byte_at(at)} * gaps;
    return at + 1 + (bits + 7) / 8 == payload.bytes &&
           payload.bits_at(std::uint64_t{8} * (at + 1) + bits) == 0;
  }
};

/// Adds up the gaps of every tile of kTile positions, then what comes before it; or reads the
/// positions. Grid: the tiles that there may be.
template <bool reads>
struct ScanPacked {
  static constexpr int kThreads = 512;
  struct Shared {
    Passed parts[kThreads + 1];
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    Passed* const of_tiles = PackedRoom::tiles(job);
    PayloadParts parts = payload.open();
    const PackedStream stream(payload, parts);
    if (parts.problem != PayloadProblem::kNone || parts.count == 0) return;
    // Where they add up, blocks may just find a problem, and all of them must arrive.
    if (reads && *job.problem != 0) return;
    const std::uint32_t tiles = tiles_of(parts.count, kTile);
    const std::uint32_t tile = block.index();
    if (tile >= tiles) return;
    const PackedGaps gaps{payload, stream, job.begins, parts.count};
    // Sums of gaps in two halves: each of a tile's fits into 32 bits.
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
      if (!reads && !(good && small)) flag(block, job);
    });
    if constexpr (!reads) {
      const std::uint64_t lows = block.sum(low);
      const std::uint64_t highs = block.sum(high);
      block.each([&](int t) {
        if (t == 0) of_tiles[tile] = {lows + (highs << 16), 0, 0};
      });
      if (!block.is_last(job.arrived, tiles)) return;
      const Passed all = join_stretches(block, shared.parts, of_tiles, tiles);
      block.each([&](int t) {
        if (t == 0 && all.elements > payload.n) flag(block, job);
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

 private:
  template <class Block>
  THINPIPE_KERNEL static void flag(Block& block, const DecodeJob& job) {
    block.set_greatest(job.problem, static_cast<std::uint32_t>(PayloadProblem::kPosition));
  }
};

}  // namespace thinpipe::cuda
