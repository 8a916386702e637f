// Writes positions of variable length: adds up where each begins, then sets its bits.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/payload.h"

namespace thinpipe::cuda {

/// View of the sent elements for kernels that write positions.
struct SentTile {
  Job job;
  std::uint32_t index;             ///< of the tile or part
  std::uint32_t count;             ///< positions of the tensor
  const std::uint32_t* positions;  ///< all of them
  std::uint32_t begin;             ///< first byte of the positions in the payload

  /// @param tile  a Tile or a Part
  THINPIPE_KERNEL SentTile(const Job* jobs, const auto& tile)
      : job(jobs[tile.job]),
        index(tile.index),
        count(job.findings->counts[job.sent]),
        positions(job.chosen.positions),
        begin(positions_at(job.values, count)) {}

  /// Returns the number of tiles with positions.
  THINPIPE_KERNEL std::uint32_t tiles() const { return tiles_of(count, kTile); }
};

/// Writes a value's bits to words in which these bits are 0.
THINPIPE_KERNEL void lay(auto& block, std::uint32_t* words, std::uint64_t bit,
                         std::uint32_t value) {
  const std::uint64_t shifted = std::uint64_t{value} << bit % 32;
  const auto low = static_cast<std::uint32_t>(shifted);
  const auto high = static_cast<std::uint32_t>(shifted >> 32);
  if (low != 0) block.add(&words[bit / 32], low);
  if (high != 0) block.add(&words[bit / 32 + 1], high);
}

// A code has
//   kChained  whether a position's bits begin where those of the previous one end
//   head()    bytes before the first position
//   most()    upper bound of all bytes, including head()
//   of()      the code for a count of positions
//   bits()    bits of a position after a gap
//   put()     writes a position

/// The common part of codes without parameters.
template <class Code>
struct ConstantCode {
  static constexpr bool kChained = true;

  THINPIPE_KERNEL static Code of(const Job& /*job*/, std::uint32_t /*count*/) { return {}; }
  THINPIPE_KERNEL static std::uint32_t head(std::uint32_t /*count*/) { return 0; }
};

/// 16-bit lengths of runs of zeros (encode/position_codec.cc).
struct Run16Positions : ConstantCode<Run16Positions> {
  static constexpr std::uint32_t kSplit = 65535;

  THINPIPE_KERNEL static std::uint64_t most(std::uint32_t count, std::uint32_t n) {
    return (std::uint64_t{count} + n / kSplit) * sizeof(std::uint16_t);
  }
  THINPIPE_KERNEL std::uint32_t bits(std::uint32_t gap) const { return 16 * (1 + gap / kSplit); }
  THINPIPE_KERNEL void put(auto& block, std::uint32_t* words, std::uint64_t bit,
                           std::uint32_t /*position*/, std::uint32_t gap) const {
    for (; gap >= kSplit; gap -= kSplit, bit += 16) lay(block, words, bit, kSplit);
    lay(block, words, bit, gap);
  }
};

/// One bit per element (encode/position_codec.cc).
struct BitmapPositions : ConstantCode<BitmapPositions> {
  static constexpr bool kChained = false;

  THINPIPE_KERNEL static std::uint64_t most(std::uint32_t /*count*/, std::uint32_t n) {
    return (std::uint64_t{n} + 7) / 8;
  }
  THINPIPE_KERNEL std::uint32_t bits(std::uint32_t /*gap*/) const { return 0; }
  THINPIPE_KERNEL void put(auto& block, std::uint32_t* words, std::uint64_t bit,
                           std::uint32_t position, std::uint32_t /*gap*/) const {
    lay(block, words, bit + position, 1);
  }
};

/// Golomb-Rice coded gaps (encode/gap_codes.cc).
struct GolombPositions {
  static constexpr bool kChained = true;

  std::uint32_t remainder;  ///< bits of the remainder

  /// Uses Job::densities: only the host computes logarithms.
  THINPIPE_KERNEL static GolombPositions of(const Job& job, std::uint32_t count) {
    std::uint32_t bits = 0;
    while (bits < 31 && count <= job.densities[bits + 1]) ++bits;
    return {bits};
  }
  THINPIPE_KERNEL static std::uint32_t head(std::uint32_t count) { return count == 0 ? 0 : 1; }
  THINPIPE_KERNEL std::uint64_t most(std::uint32_t count, std::uint32_t n) const {
    return head(count) + (std::uint64_t{count} * (remainder + 1) + (n >> remainder) + 7) / 8;
  }
  THINPIPE_KERNEL std::uint32_t bits(std::uint32_t gap) const {
    return (gap >> remainder) + 1 + remainder;
  }
  THINPIPE_KERNEL void put(auto& block, std::uint32_t* words, std::uint64_t bit,
                           std::uint32_t /*position*/, std::uint32_t gap) const {
    const std::uint32_t quotient = gap >> remainder;
    lay(block, words, bit + quotient, 1 | (gap - (quotient << remainder)) << 1);
  }
};

/// Clears the words that LayPositions will write. Grid: the parts.
template <class Code>
struct ClearPositions : OnParts {
  static constexpr int kThreads = 512;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const SentTile tile(jobs, parts[block.index()]);
    const Job& job = tile.job;
    const std::uint32_t begin = tile.begin;
    const std::uint64_t most = begin + Code::of(job, tile.count).most(tile.count, job.n);
    const std::uint64_t end = most < job.capacity ? most : job.capacity;
    const std::uint32_t stride = job.parts * kThreads;
    block.each([&](int t) {
      // Clears the first word even without positions: the values end in it.
      for (auto i = tile.index * kThreads + static_cast<std::uint32_t>(t);
           i == 0 || std::uint64_t{4} * (begin / 4 + i) < end; i += stride)
        job.payload[begin / 4 + i] = 0;
    });
  }
};

/// Consecutive positions per thread.
constexpr std::uint32_t kLaidEach = 8;

/// Calls body(position, gap) for thread t's positions of a tile.
THINPIPE_KERNEL void each_gap(int t, const SentTile& tile, auto body) {
  const std::uint32_t first = tile.index * kTile + static_cast<std::uint32_t>(t) * kLaidEach;
  std::uint32_t next = first == 0 || first >= tile.count ? 0 : tile.positions[first - 1] + 1;
  for (std::uint32_t i = first; i < first + kLaidEach && i < tile.count; ++i) {
    const std::uint32_t position = tile.positions[i];
    body(position, position - next);
    next = position + 1;
  }
}

/// Writes the positions of the sent elements. Finds where each position begins by a decoupled
/// look-back over the tiles' prefix states (prefix.h). Grid: the tiles of kTile elements, in order.
template <class Code>
struct LayPositions : OnTiles {
  static constexpr int kThreads = 512;
  static_assert(kTile == kThreads * kLaidEach);

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const SentTile tile(jobs, tiles[block.index()]);
    if (tile.index >= tile.tiles()) return;
    const Job& job = tile.job;
    const std::uint32_t count = tile.count;
    const std::uint32_t begin = tile.begin;
    const Code code = Code::of(job, count);
    const std::uint32_t head = Code::head(count);
    typename Block::template Local<std::uint32_t> before;
    block.each([&](int t) {
      std::uint32_t bits = 0;
      if constexpr (Code::kChained) {
        each_gap(t, tile,
                 [&](std::uint32_t /*position*/, std::uint32_t gap) { bits += code.bits(gap); });
      }
      before[t] = bits;
    });
    std::uint32_t own = 0;
    std::uint32_t earlier = 0;
    if constexpr (Code::kChained) {
      own = block.prefix(before);
      earlier = block.before(job.states[0], tile.index, {own, 0}).first;
    }
    block.each([&](int t) {
      std::uint64_t bit = std::uint64_t{8} * (begin + head) + earlier + before[t];
      each_gap(t, tile, [&](std::uint32_t position, std::uint32_t gap) {
        code.put(block, job.payload, bit, position, gap);
        bit += code.bits(gap);
      });
      if (t != 0) return;
      if constexpr (requires { code.remainder; }) {
        if (tile.index == 0 && head > 0)
          lay(block, job.payload, std::uint64_t{8} * begin, code.remainder);
      }
      if (tile.index + 1 < tile.tiles()) return;
      const std::uint32_t bytes = Code::kChained
                                      ? (earlier + own + 7) / 8
                                      : static_cast<std::uint32_t>(code.most(count, job.n));
      job.findings->encoded = begin + head + bytes;
    });
  }
};

}  // namespace thinpipe::cuda
