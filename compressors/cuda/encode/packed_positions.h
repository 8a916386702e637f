// Writes blocks of 128 gaps. A block begins with a byte that holds the number of bits per gap
// (encode/gap_lengths.cc).
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/laid_positions.h"

namespace thinpipe::cuda {

constexpr std::uint32_t kPackedBlock = 128;  ///< gaps
constexpr std::uint32_t kMaxWidth = 32;      ///< bits of a gap
/// Threads per block of gaps.
constexpr std::uint32_t kPackedThreads = kPackedBlock / kLaidEach;

/// Input of ClearPositions.
struct PackedPositions {
  THINPIPE_KERNEL static PackedPositions of(const Job& /*job*/, std::uint32_t /*count*/) {
    return {};
  }
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
struct LayPacked {
  static constexpr int kThreads = 512;
  struct Shared {
    std::uint32_t gaps[kThreads];  ///< bitwise OR of a thread's gaps
  };

  const Job* jobs;
  const Tile* tiles;

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

}  // namespace thinpipe::cuda
