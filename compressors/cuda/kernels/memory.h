// Memory updates before compression, and in steps without an exchange.
#pragma once

#include <cmath>
#include <cstdint>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/in_tile.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"

namespace thinpipe::cuda {

/// Sets Job::scale to the factor that limits the gradient's L2 norm (memory/clipped.cc).
struct FitClip {
  Job* jobs;
  const Findings* first;  ///< of the first job; findings are in the order of jobs
  double limit;

  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    const double norm = std::sqrt(totals.squares);
    jobs[job.findings - first].scale = norm > limit ? static_cast<float>(limit / norm) : 1.0F;
  }
};
using FindClip = AddUp<Reading::kGradient, Of::kAll, FitClip, SquareSums>;

/// Adds the gradients to the memories. Grid: the tiles of kSumTile elements.
struct HoldGradients {
  static constexpr int kThreads = 512;
  struct Shared {};

  const Job* jobs;
  const Tile* tiles;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    block.each([&](int t) {
      each_in_tile<kThreads, kSumTile>(t, tile.index, job.n,
                                       [&](std::uint32_t i) { element<Reading::kSum>(job, i); });
    });
  }
};

}  // namespace thinpipe::cuda
