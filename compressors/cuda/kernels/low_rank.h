// Products of matrices with a few columns, bit for bit those of compressors/kernels/low_rank.cc.
#pragma once

#include <bit>
#include <cstdint>

#include "base/splitmix64.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/element_type.h"
#include "compressors/kernels/transforms.h"

namespace thinpipe::cuda {

/// One tensor as a matrix, and its factors, stored column by column.
struct LowRankMatrix {
  std::uint32_t job = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t rank = 0;
  std::uint64_t seed = 0;  ///< of the first q
  float* p = nullptr;
  float* q = nullptr;
  std::uint32_t* bad = nullptr;  ///< 1: an element is not finite
  float* workspace = nullptr;    ///< one q per segment of rows, if there are several segments
  double* products = nullptr;    ///< see MultiplyColumns (quantize/power_sgd.h)
  double* scales = nullptr;      ///< by column of p; see FactorProducts (quantize/power_sgd.h)

  THINPIPE_BOTH std::uint32_t factors() const { return (rows + columns) * rank; }
  THINPIPE_BOTH std::uint32_t segments() const { return parts_of(rows, kLowRankStretch); }
  THINPIPE_BOTH std::uint32_t dot_segments() const { return parts_of(rows, kDotStretch); }

 private:
  THINPIPE_BOTH static std::uint32_t parts_of(std::uint32_t rows, std::size_t size) {
    const auto some = static_cast<std::uint32_t>(size);
    return (rows + some - 1) / some;
  }
};

/// The first members of kernels for tiles of matrices: Tile::job is the index of the matrix. Some
/// use no jobs.
struct OnMatrices {
  struct Shared {};

  const Job* jobs;
  const LowRankMatrix* matrices;
  const Tile* tiles;
};

/// Returns element i of p q^T, summed over the rank in order.
THINPIPE_KERNEL inline float low_rank_element(const LowRankMatrix& matrix, const float* p,
                                              const float* q, std::uint32_t i) {
  const std::uint32_t row = i / matrix.columns;
  const std::uint32_t column = i % matrix.columns;
  float sum = p[row] * q[column];
  for (std::uint32_t k = 1; k < matrix.rank; ++k) {
    const float product = p[k * matrix.rows + row] * q[k * matrix.columns + column];
    sum = sum + product;
  }
  return sum;
}
THINPIPE_KERNEL inline bool is_finite(float x) { return x - x == 0; }

/// Fills with random numbers the columns of q whose elements are all 0 or, with `anew`, every
/// column. Grid: one block per column of every matrix.
struct RenewColumns : OnMatrices {
  static constexpr int kThreads = 256;

  bool anew;  ///< all columns, with this step's numbers

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    float* const q = matrix.q + std::size_t{tile.index} * matrix.columns;
    typename Block::template Local<std::uint32_t> filled;
    block.each([&](int t) {
      filled[t] = 0;
      for (auto i = static_cast<std::uint32_t>(t); i < matrix.columns; i += kThreads)
        filled[t] += q[i] != 0 ? 1 : 0;
    });
    const bool is_empty = block.sum(filled) == 0;
    // A reset has no jobs.
    const std::uint64_t step = anew && jobs != nullptr ? jobs[matrix.job].tag : 0;
    each_of(block, is_empty || anew ? matrix.columns : 0, [&](std::uint32_t i) {
      SplitMix64 random(matrix.seed + tile.index + matrix.rank * step);
      random.skip(i);
      q[i] = low_rank_random(random.next());
    });
  }
};

/// Computes p = c q. Grid: kRows rows of every matrix.
struct MultiplyLeft : OnMatrices {
  static constexpr std::uint32_t kRows = 32;
  static constexpr std::uint32_t kAtOnce = 4;  ///< columns of q
  static constexpr int kThreads = static_cast<int>(kRows * kLowRankPartials);
  struct Shared {
    float partial[kAtOnce][kThreads];
  };

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    const float* const c = jobs[matrix.job].c();
    const std::uint32_t columns = matrix.columns;
    const std::uint32_t whole = columns / kLowRankPartials * kLowRankPartials;
    for (std::uint32_t first = 0; first < matrix.rank; first += kAtOnce) {
      const std::uint32_t count = matrix.rank - first < kAtOnce ? matrix.rank - first : kAtOnce;
      const float* const q = matrix.q + std::size_t{first} * columns;
      block.each([&](std::uint32_t thread) {
        const std::uint32_t row = tile.index * kRows + thread / kLowRankPartials;
        if (row >= matrix.rows) return;
        float sums[kAtOnce] = {};
        for (std::uint32_t j = thread % kLowRankPartials; j < whole; j += kLowRankPartials) {
          const float x = c[std::size_t{row} * columns + j];
          for (std::uint32_t k = 0; k < count; ++k) {
            const float product = x * q[k * columns + j];
            sums[k] = sums[k] + product;
          }
        }
        for (std::uint32_t k = 0; k < count; ++k) shared.partial[k][thread] = sums[k];
      });
      block.each([&](std::uint32_t thread) {
        const std::uint32_t k = thread / kRows;
        const std::uint32_t row = tile.index * kRows + thread % kRows;
        if (k >= count || row >= matrix.rows) return;
        float sum = 0;
        for (std::uint32_t i = 0; i < kLowRankPartials; ++i)
          sum = sum + shared.partial[k][thread % kRows * kLowRankPartials + i];
        for (std::uint32_t j = whole; j < columns; ++j) {
          const float product = c[std::size_t{row} * columns + j] * q[k * columns + j];
          sum = sum + product;
        }
        matrix.p[(first + k) * matrix.rows + row] = sum;
        if (!is_finite(sum)) block.set_greatest(matrix.bad, 1);
      });
    }
  }
};

/// Computes the contribution of every segment of rows to q = c^T p. One thread per column adds up
/// the segment's rows in order. Grid: the columns of every segment of every matrix, kThreads per
/// block.
struct MultiplyRight : OnMatrices {
  static constexpr int kThreads = 128;
  static constexpr std::uint32_t kAtOnce = 4;

  THINPIPE_BOTH static std::uint32_t blocks(const LowRankMatrix& matrix) {
    constexpr auto kColumns = static_cast<std::uint32_t>(kThreads);
    return (matrix.columns + kColumns - 1) / kColumns;
  }

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    const float* const c = jobs[matrix.job].c();
    const std::uint32_t segment = tile.index / blocks(matrix);
    const std::uint32_t first_column =
        tile.index % blocks(matrix) * static_cast<std::uint32_t>(kThreads);
    constexpr auto kRows = static_cast<std::uint32_t>(kLowRankStretch);
    const std::uint32_t begin = segment * kRows;
    const std::uint32_t end = matrix.rows - begin < kRows ? matrix.rows : begin + kRows;
    const bool is_all = matrix.segments() == 1;
    float* const to =
        is_all ? matrix.q : matrix.workspace + std::size_t{segment} * matrix.rank * matrix.columns;
    block.each([&](int t) {
      const std::uint32_t j = first_column + static_cast<std::uint32_t>(t);
      if (j >= matrix.columns) return;
      for (std::uint32_t first = 0; first < matrix.rank; first += kAtOnce) {
        const std::uint32_t count = matrix.rank - first < kAtOnce ? matrix.rank - first : kAtOnce;
        const float* const p = matrix.p + first * matrix.rows;
        float sums[kAtOnce] = {};
        for (std::uint32_t i = begin; i < end; ++i) {
          const float x = c[std::size_t{i} * matrix.columns + j];
          for (std::uint32_t k = 0; k < count; ++k) {
            const float product = x * p[k * matrix.rows + i];
            sums[k] = sums[k] + product;
          }
        }
        for (std::uint32_t k = 0; k < count; ++k) {
          to[(first + k) * matrix.columns + j] = sums[k];
          if (is_all && !is_finite(sums[k])) block.set_greatest(matrix.bad, 1);
        }
      }
    });
  }
};

/// Computes q as the sum over segments, for matrices with several. Grid: kTile numbers of their q.
struct AddSegments : OnMatrices {
  static constexpr int kThreads = 512;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    const std::uint32_t count = matrix.columns * matrix.rank;
    each_of_tile(block, tile.index, count, [&](std::uint32_t i) {
      float sum = matrix.workspace[i];
      for (std::uint32_t segment = 1; segment < matrix.segments(); ++segment)
        sum = sum + matrix.workspace[std::size_t{segment} * count + i];
      matrix.q[i] = sum;
      if (!is_finite(sum)) block.set_greatest(matrix.bad, 1);
    });
  }
};

/// Writes the payload: p, then q. If any element of a matrix's factors is not finite, writes zeros
/// for all of them. Grid: kTile numbers of every matrix's factors.
struct WriteFactors : OnMatrices {
  static constexpr int kThreads = 512;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    const Job job = jobs[matrix.job];
    const bool bad = *matrix.bad != 0;
    block.each([&](int t) {
      if (tile.index == 0 && t == 0) {
        job.findings->encoded = static_cast<std::uint32_t>(sizeof(float)) * matrix.factors();
        job.findings->counts[1] = job.n;
      }
      const std::uint32_t of_p = matrix.rows * matrix.rank;
      each_in_tile<kThreads>(t, tile.index, matrix.factors(), [&](std::uint32_t i) {
        float& value = i < of_p ? matrix.p[i] : matrix.q[i - of_p];
        if (bad) value = 0;
        job.payload[i] = std::bit_cast<std::uint32_t>(value);
      });
    });
  }
};

/// Subtracts p q^T from the memory. Grid: kTile elements of every matrix.
struct LeaveLowRank : OnMatrices {
  static constexpr int kThreads = 512;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    const Job job = jobs[matrix.job];
    if (!job.minds_sent()) return;
    each_of_tile(block, tile.index, job.n, [&](std::uint32_t i) {
      leave(job, i, job.c()[i], low_rank_element(matrix, matrix.p, matrix.q, i));
    });
  }
};

/// Reports problem 1 if a number of the factors is not finite. Grid: the tiles of kTile numbers.
struct CheckFactors {
  static constexpr int kThreads = 512;
  struct Shared {};

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
    const std::uint32_t count = job.payload.bytes / 4;
    each_of_tile(block, block.index(), count, [&](std::uint32_t i) {
      if (!is_finite(std::bit_cast<float>(job.payload.words[i]))) tell(block, job, 1);
    });
  }
};

/// Computes out += factor * p q^T, unless a problem was found. Grid: the tiles of kTile elements.
struct AddLowRank {
  static constexpr int kThreads = 512;
  struct Shared {};

  const LowRankMatrix* matrices;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
    if (*job.problem != 0) return;
    const LowRankMatrix matrix = matrices[job.part];
    const auto* const p = reinterpret_cast<const float*>(job.payload.words);
    each_of_tile(block, block.index(), job.payload.n, [&](std::uint32_t i) {
      add_decoded(job, i, low_rank_element(matrix, p, p + matrix.rows * matrix.rank, i));
    });
  }
};

/// Copies Job::mean to p or q, and sets LowRankMatrix::bad if a number is not finite. Grid: the
/// tiles of WriteFactors.
struct TakeMean : OnMatrices {
  static constexpr int kThreads = 512;

  bool is_p;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    const float* const mean = jobs[matrix.job].mean;
    float* const to = is_p ? matrix.p : matrix.q;
    const std::uint32_t count = (is_p ? matrix.rows : matrix.columns) * matrix.rank;
    each_of_tile(block, tile.index, count, [&](std::uint32_t i) {
      to[i] = mean[i];
      if (!is_finite(mean[i])) block.set_greatest(matrix.bad, 1);
    });
  }
};

}  // namespace thinpipe::cuda
