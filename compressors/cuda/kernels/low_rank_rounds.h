// Further kernels for PowerSGD's all-reduce rounds (see kernels/low_rank.h).
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/low_rank.h"

namespace thinpipe::cuda {

/// Copies Job::mean to p or q, and sets LowRankMatrix::bad if a number is not finite. Grid: the
/// tiles of WriteFactors.
struct TakeMean {
  static constexpr int kThreads = 512;
  struct Shared {};

  const Job* jobs;
  const LowRankMatrix* matrices;
  const Tile* tiles;
  bool is_p;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const LowRankMatrix matrix = matrices[tile.job];
    const float* const mean = jobs[matrix.job].mean;
    float* const to = is_p ? matrix.p : matrix.q;
    const std::uint32_t count = (is_p ? matrix.rows : matrix.columns) * matrix.rank;
    block.each([&](int t) {
      each_in_tile<kThreads>(t, tile.index, count, [&](std::uint32_t i) {
        to[i] = mean[i];
        if (!is_finite(mean[i])) block.set_greatest(matrix.bad, 1);
      });
    });
  }
};

}  // namespace thinpipe::cuda
