// Orthonormalises the columns of p in up to two passes, bit for bit as
// compressors/methods/powersgd.cc. A pass computes the matrix of the products of all pairs of
// columns and its Cholesky factor, and applies the factor's inverse to every row of p.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/low_rank.h"

namespace thinpipe::cuda {

/// The pairs of columns that a block multiplies: those of two groups of kSide columns.
struct ColumnPairs {
  static constexpr std::uint32_t kSide = 4;

  THINPIPE_BOTH static std::uint32_t groups(std::uint32_t rank) {
    return (rank + kSide - 1) / kSide;
  }
  /// Returns the blocks for one segment of rows.
  THINPIPE_BOTH static std::uint32_t blocks(std::uint32_t rank) {
    return groups(rank) * (groups(rank) + 1) / 2;
  }
};

/// Computes the products of all pairs of columns of p over every segment of rows. Stores the
/// product of columns k and i >= k at [k * rank + i] of the segment's LowRankMatrix::products.
/// Grid: ColumnPairs::blocks() for every segment of every matrix.
struct MultiplyColumns {
  static constexpr int kThreads = static_cast<int>(kDotLanes);
  static constexpr std::uint32_t kSide = ColumnPairs::kSide;
  struct Shared {
    double lanes[kSide * kSide][kDotLanes];
  };

  const LowRankMatrix* matrices;
  const Tile* tiles;
  std::size_t pass;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    if (pass >= orthogonalize_passes(matrix.rank)) return;
    const std::uint32_t rank = matrix.rank;
    const std::uint32_t segment = tile.index / ColumnPairs::blocks(rank);
    const std::uint32_t pair = tile.index % ColumnPairs::blocks(rank);
    std::uint32_t later = 0;
    while ((later + 1) * (later + 2) / 2 <= pair) ++later;
    const std::uint32_t first_k = (pair - later * (later + 1) / 2) * kSide;
    const std::uint32_t first_i = later * kSide;
    constexpr auto kRows = static_cast<std::uint32_t>(kDotStretch);
    const std::uint32_t begin = segment * kRows;
    const std::uint32_t end = matrix.rows - begin < kRows ? matrix.rows : begin + kRows;
    block.each([&](int t) {
      double sums[kSide][kSide] = {};
      for (std::uint32_t row = begin + static_cast<std::uint32_t>(t); row < end; row += kThreads) {
        double x[kSide], y[kSide];
        for (std::uint32_t j = 0; j < kSide; ++j) {
          x[j] = element(matrix, first_k + j, row);
          y[j] = element(matrix, first_i + j, row);
        }
        for (std::uint32_t k = 0; k < kSide; ++k)
          for (std::uint32_t i = 0; i < kSide; ++i) sums[k][i] += x[k] * y[i];
      }
      for (std::uint32_t k = 0; k < kSide; ++k)
        for (std::uint32_t i = 0; i < kSide; ++i) shared.lanes[k * kSide + i][t] = sums[k][i];
    });
    for (int half = kThreads / 2; half > 0; half /= 2)
      block.each([&](int t) {
        if (t >= half) return;
        for (double* const lanes : shared.lanes) lanes[t] += lanes[t + half];
      });
    block.each([&](int t) {
      const std::uint32_t k = first_k + static_cast<std::uint32_t>(t) / kSide;
      const std::uint32_t i = first_i + static_cast<std::uint32_t>(t) % kSide;
      if (static_cast<std::uint32_t>(t) >= kSide * kSide || i >= rank || k > i) return;
      matrix.products[(std::size_t{segment} * rank + k) * rank + i] = shared.lanes[t][0];
    });
  }

 private:
  THINPIPE_KERNEL static double element(const LowRankMatrix& matrix, std::uint32_t column,
                                        std::uint32_t row) {
    if (column >= matrix.rank) return 0;
    return static_cast<double>(matrix.p[std::size_t{column} * matrix.rows + row]);
  }
};

/// Adds up the products of all segments, in the array of the first segment, and computes the
/// Cholesky factor of their sums. Replaces the sums by the factor's elements off the diagonal, and
/// sets LowRankMatrix::scales to the inverse of its diagonal. Grid: one block per matrix.
struct FactorProducts {
  static constexpr int kThreads = 256;
  struct Shared {};

  const LowRankMatrix* matrices;
  std::size_t pass;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const LowRankMatrix matrix = matrices[block.index()];
    if (pass >= orthogonalize_passes(matrix.rank)) return;
    const std::uint32_t rank = matrix.rank;
    double* const products = matrix.products;
    each_of(block, rank * rank, [&](std::uint32_t at) {
      if (at % rank < at / rank) return;
      double sum = 0;
      for (std::uint32_t segment = 0; segment < matrix.dot_segments(); ++segment)
        sum += products[std::size_t{segment} * rank * rank + at];
      products[at] = sum;
      if (at % rank == at / rank) matrix.scales[at / rank] = sum;  // before
    });
    for (std::uint32_t k = 0; k < rank; ++k) {
      double* const shares = products + k * rank;
      const double scale = unit_scale(matrix.scales[k], shares[k]);
      block.each([&](int t) {
        for (std::uint32_t i = k + 1 + static_cast<std::uint32_t>(t); i < rank; i += kThreads)
          shares[i] *= scale;
      });
      block.each([&](int t) {
        if (t == 0) matrix.scales[k] = scale;
        const std::uint32_t left = rank - k - 1;
        for (auto at = static_cast<std::uint32_t>(t); at < left * left; at += kThreads) {
          const std::uint32_t m = k + 1 + at / left, i = k + 1 + at % left;
          if (i < m) continue;
          products[m * rank + i] = less_share(products[m * rank + i], shares[m], shares[i]);
        }
      });
    }
  }
};

/// Makes the columns of p orthonormal, row by row: subtracts from each column its components along
/// the earlier columns, and scales it. Sets p to 0 if any element is not finite. Grid: kRows rows
/// of every matrix.
struct SubtractComponents {
  static constexpr std::uint32_t kRows = 256;
  static constexpr int kThreads = static_cast<int>(kRows);
  struct Shared {};

  const LowRankMatrix* matrices;
  const Tile* tiles;
  std::size_t pass;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    if (pass >= orthogonalize_passes(matrix.rank)) return;
    const bool bad = *matrix.bad != 0;
    block.each([&](int t) {
      const std::uint32_t row = tile.index * kRows + static_cast<std::uint32_t>(t);
      if (row >= matrix.rows) return;
      float* const p = matrix.p + row;
      for (std::uint32_t k = 0; k < matrix.rank; ++k) {
        float& value = p[std::size_t{k} * matrix.rows];
        auto left = static_cast<double>(value);
        for (std::uint32_t j = 0; j < k; ++j)
          left = less_share(left, matrix.products[j * matrix.rank + k],
                            static_cast<double>(p[std::size_t{j} * matrix.rows]));
        value = bad ? 0 : static_cast<float>(left * matrix.scales[k]);
      }
    });
  }
};

}  // namespace thinpipe::cuda
