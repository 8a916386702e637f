// DeMo's passes over a tensor: to the coefficients of its chunks, and back from the coefficients
// that are sent. A thread block holds whole chunks.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/dct.h"
#include "compressors/cuda/kernels/decode_job.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"

namespace thinpipe::cuda {

/// DemoGrid (compressors/methods/quantizers.h) for kernels.
struct DemoCut {
  static constexpr std::uint32_t kOutside = 0xffffffff;

  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t across = 1;  ///< chunks side by side
  std::uint32_t coefficients = 0;
  DctLines row = {};     ///< rows of a chunk
  DctLines column = {};  ///< columns of a chunk
  const float* cosines = nullptr;

  /// Returns the index of the tensor element that has the same position in its chunk as coefficient
  /// `at`. Returns kOutside if that position is outside the tensor.
  THINPIPE_BOTH std::uint32_t element_of(std::uint32_t at) const {
    if (at >= coefficients) return kOutside;
    const std::uint32_t chunk = at >> (row.bits + column.bits);
    const std::uint32_t y = (chunk / across << column.bits) +
                            (at >> row.bits & ((std::uint32_t{1} << column.bits) - 1));
    const std::uint32_t x =
        (chunk % across << row.bits) + (at & ((std::uint32_t{1} << row.bits) - 1));
    return y < rows && x < columns ? y * columns + x : kOutside;
  }
};

/// Sent coefficients, by ascending position.
struct SentCoefficients {
  const std::uint32_t* positions = nullptr;
  const float* values = nullptr;
  std::uint32_t count = 0;
};

/// Shared memory of a block.
struct DemoShared {
  float x[kTile];
  float other[kTile];
  std::uint32_t begin;  ///< the tile's range of the sent coefficients
  std::uint32_t end;
};

/// Transforms the sent coefficients of a tile back. @returns kTile values in shared memory
template <class Block>
THINPIPE_KERNEL const float* turn_back(Block& block, DemoShared& shared, const DemoCut& cut,
                                       std::uint32_t tile, const SentCoefficients& sent) {
  block.each([&](int t) {
    for (auto i = static_cast<std::uint32_t>(t); i < kTile; i += Block::kSize) shared.x[i] = 0;
    if (t > 1) return;
    // Thread 0 finds the first coefficient of the tile, thread 1 that of the next tile.
    const std::uint32_t first = (tile + static_cast<std::uint32_t>(t)) * kTile;
    std::uint32_t low = 0;
    for (std::uint32_t high = sent.count; low < high;) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (sent.positions[middle] < first) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    (t == 0 ? shared.begin : shared.end) = low;
  });
  block.each([&](int t) {
    for (std::uint32_t i = shared.begin + static_cast<std::uint32_t>(t); i < shared.end;
         i += Block::kSize)
      shared.x[sent.positions[i] - tile * kTile] = sent.values[i];
  });
  float* const rows = inverse_dct(block, cut.row, cut.cosines, shared.x, shared.other);
  float* const other = rows == shared.x ? shared.other : shared.x;
  return inverse_dct(block, cut.column, cut.cosines, rows, other);
}

/// Updates the memory and computes the coefficients of all chunks of c. Grid: the tiles of kTile
/// coefficients.
struct TransformDemo {
  static constexpr int kThreads = 512;
  using Shared = DemoShared;

  const Job* jobs;
  const Job* coefficients;  ///< jobs whose tensors are the coefficients
  const DemoCut* cuts;
  const Tile* tiles;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const DemoCut cut = cuts[tile.job];
    float* const to = coefficients[tile.job].r;
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < kTile; i += kThreads) {
        const std::uint32_t at = cut.element_of(tile.index * kTile + i);
        shared.x[i] = at == DemoCut::kOutside ? 0 : dct_input(element<Reading::kSum>(job, at));
      }
    });
    float* const rows = dct(block, cut.row, cut.cosines, shared.x, shared.other);
    float* const other = rows == shared.x ? shared.other : shared.x;
    const float* const all = dct(block, cut.column, cut.cosines, rows, other);
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < kTile; i += kThreads) {
        const std::uint32_t at = tile.index * kTile + i;
        if (at < cut.coefficients) to[at] = all[i];
      }
    });
  }
};

/// Subtracts the decoded payload from the memory. Grid: as TransformDemo.
struct LeaveDemo {
  static constexpr int kThreads = 512;
  using Shared = DemoShared;

  const Job* jobs;
  const Job* coefficients;
  const DemoCut* cuts;
  const Tile* tiles;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const Job of = coefficients[tile.job];
    const DemoCut cut = cuts[tile.job];
    const std::uint32_t count = of.findings->counts[of.sent];
    block.each([&](int t) {
      if (tile.index != 0 || t != 0) return;
      job.findings->encoded = of.findings->encoded;
      // A coefficient affects all elements of its chunk.
      job.findings->counts[1] = count == 0 ? 0 : job.n;
    });
    if (!job.minds_sent()) return;
    const float* const decoded =
        turn_back(block, shared, cut, tile.index, {of.chosen.positions, of.decoded, count});
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < kTile; i += kThreads) {
        const std::uint32_t at = cut.element_of(tile.index * kTile + i);
        if (at != DemoCut::kOutside) leave(job, at, job.c()[at], decoded[i]);
      }
    });
  }
};

/// Computes out += factor * decoded from the coefficients that an earlier kernel has read, unless a
/// problem was found in the payload. Grid: the tiles of kTile coefficients.
struct AddDemo {
  static constexpr int kThreads = 512;
  using Shared = DemoShared;

  const DemoCut* cuts;  ///< of all tensors

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared, const DecodeJob& job) const {
    if (*job.problem != 0) return;
    const DemoCut cut = cuts[job.tensor];
    const std::uint32_t tile = block.index();
    const float* const decoded =
        turn_back(block, shared, cut, tile, {job.positions, job.values, job.payload.open().count});
    block.each([&](int t) {
      for (auto i = static_cast<std::uint32_t>(t); i < kTile; i += kThreads) {
        const std::uint32_t at = cut.element_of(tile * kTile + i);
        if (at == DemoCut::kOutside) continue;
        const float value = job.factor * decoded[i];
        job.out[at] = job.out[at] + value;
      }
    });
  }
};

}  // namespace thinpipe::cuda
