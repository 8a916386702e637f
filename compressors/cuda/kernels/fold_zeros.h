// Folds runs of zero bytes of 3LC's codes (methods/quantizers.h).
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/lanes.h"
#include "compressors/cuda/kernels/ternary.h"
#include "compressors/kernels/quantize.h"

namespace thinpipe::cuda {

/// Threads of FoldZeros, and rows of 32 bytes per warp, as in choose.h.
constexpr int kByteThreads = 512;
constexpr unsigned kByteRows = kTile / kByteThreads;
struct ByteRows {
  static constexpr unsigned kSize = kByteRows;
  std::uint32_t words[kByteRows];
};

/// Returns the position of thread t's j-th byte of a tile.
THINPIPE_KERNEL inline std::uint32_t byte_position(std::uint32_t tile, int t, unsigned j) {
  return row_position(tile, t, j, kByteRows);
}

/// Writes the bytes of Job::packed to the payload and folds runs of zero bytes (kQuarticZero, the
/// byte of five zeros), greedily from the left, as zero_run_encode() does. Copies every other byte,
/// and writes one byte for each 14 zero bytes of a run, counted from the run's beginning. Grid: the
/// tiles of kTile bytes; the tiles of kTile elements suffice.
struct FoldZeros {
  static constexpr int kThreads = kByteThreads;
  static constexpr unsigned kWarps = kThreads / 32;
  struct Shared {
    std::uint32_t last[kWarps];   ///< last nonzero byte before the warp's bytes, plus 1
    std::uint32_t kept[kWarps];   ///< bytes written by earlier warps of the tile
    Counts tile_last, tile_kept;  ///< the same for the whole tile
  };

  const Job* jobs;
  const Tile* tiles;
  TernaryLayout layout;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const auto length = static_cast<std::uint32_t>(layout.bytes(job.n));
    const auto scales = static_cast<std::uint32_t>(layout.scales(job.n));
    const std::uint32_t count = tiles_of(length, kTile);
    if (tile.index >= count) return;
    typename Block::template Local<std::uint32_t> nonzero;
    typename Block::template Local<std::uint32_t> kept;
    typename Block::template Local<ByteRows> nonzero_rows;
    typename Block::template Local<ByteRows> kept_rows;
    block.each([&](int t) {
      nonzero[t] = 0;
      for (unsigned j = 0; j < kByteRows; ++j) {
        const std::uint32_t i = byte_position(tile.index, t, j);
        nonzero[t] |= std::uint32_t{i < length && job.packed[i] != kQuarticZero} << j;
      }
    });
    block.ballots(nonzero, nonzero_rows);
    block.each([&](int t) {
      if (t % 32 == 0) shared.last[t / 32] = last_of(nonzero_rows[t], tile.index, t);
    });
    block.each([&](int t) {
      if (t != 0) return;
      std::uint32_t before = 0;
      for (std::uint32_t& warp : shared.last) {
        const std::uint32_t own = warp;
        warp = before;
        before = own > before ? own : before;
      }
      shared.tile_last = {before, 0};
    });
    const Counts earlier =
        block.template before<Joined::kMax>(job.states[0], tile.index, shared.tile_last);
    block.each([&](int t) {
      kept[t] = 0;
      std::uint32_t last =
          earlier.first > shared.last[t / 32] ? earlier.first : shared.last[t / 32];
      for (unsigned j = 0; j < kByteRows; ++j) {
        const std::uint32_t i = byte_position(tile.index, t, j);
        const std::uint32_t row = nonzero_rows[t].words[j];
        const std::uint32_t first = i - static_cast<std::uint32_t>(t) % 32;  // byte of the row
        const std::uint32_t below = row & lanes_before(t);
        const std::uint32_t mine = below == 0 ? last : first + highest(below) + 1;
        const bool is_nonzero = (nonzero[t] >> j & 1) != 0;
        if (i < length && (is_nonzero || (i - mine) % kLongestRun == 0)) kept[t] |= 1U << j;
        if (row != 0) last = first + highest(row) + 1;
      }
    });
    block.ballots(kept, kept_rows);
    block.each([&](int t) {
      if (t % 32 != 0) return;
      std::uint32_t own = 0;
      for (std::uint32_t row : kept_rows[t].words) own += ones(row);
      shared.kept[t / 32] = own;
    });
    block.each([&](int t) {
      if (t != 0) return;
      std::uint32_t before = 0;
      for (std::uint32_t& warp : shared.kept) {
        const std::uint32_t own = warp;
        warp = before;
        before += own;
      }
      shared.tile_kept = {before, 0};
    });
    const Counts bytes_before = block.before(job.states[1], tile.index, shared.tile_kept);
    block.each([&](int t) {
      auto* const out = reinterpret_cast<std::uint8_t*>(job.payload + scales);
      std::uint32_t at = bytes_before.first + shared.kept[t / 32];
      for (unsigned j = 0; j < kByteRows; ++j) {
        const std::uint32_t row = kept_rows[t].words[j];
        if ((kept[t] >> j & 1) != 0) {
          const std::uint32_t i = byte_position(tile.index, t, j);
          out[at + ones(row & lanes_before(t))] =
              (nonzero[t] >> j & 1) != 0 ? job.packed[i] : folded(job.packed, length, i);
        }
        at += ones(row);
      }
      if (t == 0 && tile.index + 1 == count) {
        job.findings->encoded = static_cast<std::uint32_t>(sizeof(float)) * scales +
                                bytes_before.first + shared.tile_kept.first;
      }
    });
  }

 private:
  /// Returns the position of the last nonzero byte of a warp's rows, plus 1; 0 without such a byte.
  THINPIPE_KERNEL static std::uint32_t last_of(const ByteRows& rows, std::uint32_t tile, int t) {
    std::uint32_t last = 0;
    for (unsigned j = 0; j < kByteRows; ++j)
      if (rows.words[j] != 0) last = byte_position(tile, t, j) + highest(rows.words[j]) + 1;
    return last;
  }
  /// Returns the byte that encodes up to 14 zeros from byte i.
  THINPIPE_KERNEL static std::uint8_t folded(const std::uint8_t* packed, std::uint32_t length,
                                             std::uint32_t i) {
    std::uint32_t run = 1;
    while (run < kLongestRun && i + run < length && packed[i + run] == kQuarticZero) ++run;
    return run == 1 ? kQuarticZero : static_cast<std::uint8_t>(kFirstRunByte + (run - 2));
  }
};

}  // namespace thinpipe::cuda
