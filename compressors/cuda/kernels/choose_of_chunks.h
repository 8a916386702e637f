// Selects the k largest magnitudes of every chunk, in order, in one pass. A thread block holds
// whole chunks and finds the k-th key of each, digit by digit.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/kth.h"
#include "compressors/cuda/kernels/source.h"

namespace thinpipe::cuda {

/// Performs the first selection pass of a step, for tensors that are divided into chunks
/// (Job::chunks). Keeps the lowest positions among equal magnitudes. Reports as threshold the
/// minimum of the chunks' k-th magnitudes. Grid: the tiles of kTile elements; a chunk of several
/// tiles belongs to the block of its first tile.
template <Reading reading>
struct ChooseOfChunks : OnTiles {
  static constexpr int kThreads = 512;
  static constexpr unsigned kRows = kTile / kThreads;  ///< rows of 32 elements per warp
  static constexpr std::uint32_t kTileRows = kTile / 32;
  static constexpr std::uint32_t kKeyBits = 31;
  static constexpr std::uint32_t kMaxKey = 0x7fffffff;
  /// Maximum bits of a digit. For each digit, a chunk has one counter per two elements, but at most
  /// kBins counters. All chunks of a tile together therefore have kBins counters, and each thread
  /// has kBinsEach counters, all of one chunk.
  static constexpr std::uint32_t kMaxDigit = 11;
  static constexpr std::uint32_t kBinsEach = kBins / kThreads;
  static constexpr std::uint32_t kMinBits = 3;
  static_assert(kBins == kTile / 2 && kBinsEach == 1U << (kMinBits - 1));

  template <class T>
  using Rows = WarpRows<T, kRows>;

  struct Shared {
    std::uint32_t bins[kBins];
    DigitSearch searches[kTile >> kMinBits];   ///< by chunk
    std::uint32_t greater[kTile >> kMinBits];  ///< by chunk, keys counted before it
    std::uint32_t rows[kTileRows];  ///< in the rows before: kept (16 bits), ties (16 bits)
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    // A tensor with fewer elements is one chunk.
    const std::uint32_t bits = job.chunks.bits < kMinBits ? kMinBits : job.chunks.bits;
    const std::uint32_t parts = ((kTile - 1 + (std::uint32_t{1} << bits)) / kTile);
    if (tile.index % parts != 0) return;
    typename Block::template Local<Rows<float>> values;
    // The values of a chunk of several tiles are read again in each pass.
    const auto read_again = [&](int t, std::uint32_t part) {
      if (parts > 1) read_rows<Reading::kAsIs>(job, job.n, tile.index + part, t, values[t]);
    };
    start(block, shared, job, tile.index, bits);
    for (std::uint32_t left = kKeyBits; left > 0;) {
      const std::uint32_t digit = bits - 1 < kMaxDigit ? bits - 1 : kMaxDigit;
      const std::uint32_t width = digit < left ? digit : left;
      const std::uint32_t shift = left - width;
      block.each([&](int t) {
        for (std::uint32_t part = 0; part < parts; ++part) {
          if (left == kKeyBits) {
            read_rows<reading>(job, job.n, tile.index + part, t, values[t]);
          } else {
            read_again(t, part);
          }
          for (unsigned j = 0; j < kRows; ++j) {
            const std::uint32_t i = row_position(tile.index + part, t, j, kRows);
            if (i >= job.n) break;
            const std::uint32_t chunk = (i - tile.index * kTile) >> bits;
            const std::uint32_t key = rank_of<KeyOrder::kMagnitude>(values[t].words[j]);
            if (key >> left != shared.searches[chunk].known) continue;
            const std::uint32_t value = key >> shift & ((std::uint32_t{1} << width) - 1);
            block.add(&shared.bins[(chunk << digit) + value], 1);
          }
        }
      });
      find(block, shared, digit, width);
      left = shift;
    }
    Counts before;  // counts of the chunk in earlier tiles
    for (std::uint32_t part = 0; part < parts; ++part) {
      typename Block::template Local<std::uint32_t> above, equal;
      typename Block::template Local<Rows<std::uint32_t>> above_rows, equal_rows;
      block.each([&](int t) {
        read_again(t, part);
        above[t] = equal[t] = 0;
        for (unsigned j = 0; j < kRows; ++j) {
          const std::uint32_t i = row_position(tile.index + part, t, j, kRows);
          if (i >= job.n) break;
          const std::uint32_t key = rank_of<KeyOrder::kMagnitude>(values[t].words[j]);
          const std::uint32_t kth = shared.searches[(i - tile.index * kTile) >> bits].known;
          above[t] |= std::uint32_t{key > kth} << j;
          equal[t] |= std::uint32_t{key == kth} << j;
        }
      });
      block.ballots(above, above_rows);
      block.ballots(equal, equal_rows);
      block.each([&](int t) {
        if (t % 32 != 0) return;
        for (unsigned j = 0; j < kRows; ++j) {
          shared.rows[row_of(t, j)] =
              ones(above_rows[t].words[j]) << 16 | ones(equal_rows[t].words[j]);
        }
      });
      typename Block::template Local<std::uint32_t> rows;
      block.each(
          [&](int t) { rows[t] = static_cast<std::uint32_t>(t) < kTileRows ? shared.rows[t] : 0; });
      const std::uint32_t all = block.prefix(rows);
      block.each([&](int t) {
        if (static_cast<std::uint32_t>(t) < kTileRows) shared.rows[t] = rows[t];
      });
      block.each([&](int t) {
        for (unsigned j = 0; j < kRows; ++j) {
          const bool is_above = (above[t] >> j & 1) != 0;
          const bool is_tie = (equal[t] >> j & 1) != 0;
          if (!is_above && !is_tie) continue;
          const std::uint32_t i = row_position(tile.index + part, t, j, kRows);
          const std::uint32_t ties = shared.searches[(i - tile.index * kTile) >> bits].rank;
          const std::uint32_t of_tile = i - (tile.index + part) * kTile;
          const std::uint32_t first = bits < 12 ? of_tile >> bits << bits : 0;
          const std::uint32_t rows_before = shared.rows[row_of(t, j)] - shared.rows[first / 32];
          // In a row with several chunks, count only the lanes of this chunk.
          const std::uint32_t lower =
              lanes_before(t) & ~(bits < 5 ? (std::uint32_t{1} << first % 32) - 1 : 0);
          const std::uint32_t greater =
              before.first + (rows_before >> 16) + ones(above_rows[t].words[j] & lower);
          const std::uint32_t tied =
              before.second + (rows_before & 0xffff) + ones(equal_rows[t].words[j] & lower);
          if (is_tie && tied >= ties) continue;
          const std::uint32_t at = (i >> bits) * job.chunks.most_of(job.chunks.size()) + greater +
                                   (tied < ties ? tied : ties);
          const Chosen out = job.chosen;
          out.positions[at] = i;
          out.values[at] = values[t].words[j];
        }
      });
      before = before + Counts{all >> 16, all & 0xffff};
    }
    finish(block, shared, job, tile.index, bits, parts);
  }

 private:
  THINPIPE_KERNEL static std::uint32_t row_of(int t, unsigned j) {
    return static_cast<std::uint32_t>(t) / 32 * kRows + j;
  }

  /// Returns the elements of a block's chunk; 0 past the tensor's end.
  THINPIPE_KERNEL static std::uint32_t elements(const Job& job, std::uint32_t tile,
                                                std::uint32_t bits, std::uint32_t chunk) {
    const std::uint32_t begin = tile * kTile + (chunk << bits);
    const std::uint32_t size = std::uint32_t{1} << bits;
    return begin >= job.n ? 0 : job.n - begin < size ? job.n - begin : size;
  }
  THINPIPE_KERNEL static std::uint32_t chunks_of(std::uint32_t bits) {
    return bits < 12 ? kTile >> bits : 1;
  }

  /// Initialises all searches and counters.
  THINPIPE_KERNEL static void start(auto& block, Shared& shared, const Job& job, std::uint32_t tile,
                                    std::uint32_t bits) {
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < kBins; i += kThreads) shared.bins[i] = 0;
      const auto chunk = static_cast<std::uint32_t>(t);
      if (chunk < chunks_of(bits))
        shared.searches[chunk] = {0, job.chunks.most_of(elements(job, tile, bits, chunk))};
    });
  }

  /// Advances all searches by a digit and clears the counters.
  template <class Block>
  THINPIPE_KERNEL static void find(Block& block, Shared& shared, std::uint32_t digit,
                                   std::uint32_t width) {
    typename Block::template Local<std::uint32_t> greater;
    typename Block::template Local<DigitSearch> before;
    const auto chunk_of = [&](int t) {
      return (static_cast<std::uint32_t>(t) * kBinsEach) >> digit;
    };
    const auto bin_of = [&](int t, std::uint32_t i) {
      return static_cast<std::uint32_t>(t) * kBinsEach + i;
    };
    const std::uint32_t last = (std::uint32_t{1} << digit) - 1;
    // Counters of a chunk, from the greatest value down.
    block.each([&](int t) {
      greater[t] = 0;
      for (std::uint32_t i = 0; i < kBinsEach; ++i) greater[t] += shared.bins[bin_of(t, i) ^ last];
    });
    block.prefix(greater);
    block.each([&](int t) {
      const std::uint32_t chunk = chunk_of(t);
      if ((bin_of(t, 0) & last) == 0) shared.greater[chunk] = greater[t];
      before[t] = shared.searches[chunk];
    });
    block.each([&](int t) {
      std::uint32_t above = greater[t] - shared.greater[chunk_of(t)];
      for (std::uint32_t i = 0; i < kBinsEach; ++i) {
        const std::uint32_t bin = bin_of(t, i) ^ last;
        const std::uint32_t own = shared.bins[bin];
        shared.bins[bin] = 0;
        const std::uint32_t rank = before[t].rank;
        if (above < rank && rank <= above + own)
          shared.searches[chunk_of(t)] = {before[t].known << width | (bin & last), rank - above};
        above += own;
      }
    });
  }

  /// Joins the findings of all chunks.
  THINPIPE_KERNEL static void finish(auto& block, const Shared& shared, const Job& job,
                                     std::uint32_t tile, std::uint32_t bits, std::uint32_t parts) {
    Findings& findings = *job.findings;
    block.each([&](std::uint32_t chunk) {
      if (chunk < chunks_of(bits) && elements(job, tile, bits, chunk) > 0)
        block.set_greatest(&findings.most, kMaxKey - shared.searches[chunk].known);
    });
    if (!block.is_last(&findings.arrived, tiles_of(job.n, parts * kTile))) return;
    once(block, [&] {
      const std::uint32_t lowest_key = kMaxKey - findings.most;
      findings.threshold = job.n == 0 ? 0 : magnitude_of(static_cast<std::int32_t>(lowest_key));
      findings.counts[place_of(1)] = job.target;
      findings.most = 0;
    });
  }
};

}  // namespace thinpipe::cuda
