// Draws a sample of c before the memory's update.
#pragma once

#include <cstdint>

#include "base/splitmix64.h"
#include "compressors/cuda/kernels/in_tile.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/rules.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/select/top_k.h"

namespace thinpipe::cuda {

/// Draws a sample of Job::sampled elements, the same ones as sample_keys(), and sets Job::sample to
/// their keys as unsigned numbers (rank_of()). Grid: the tiles of kTile elements.
template <KeyOrder order = KeyOrder::kMagnitude>
struct GatherSample {
  static constexpr int kThreads = 256;
  struct Shared {};

  const Job* jobs;
  const Job* to;  ///< jobs that receive the samples
  const Tile* tiles;
  Sampling sampling;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    block.each([&](int t) {
      each_in_tile<kThreads>(t, tile.index, job.sampled, [&](std::uint32_t i) {
        to[tile.job].sample[i] = rank_of<order>(peek(job, position_of(job, i)));
      });
    });
  }

 private:
  static constexpr std::uint32_t kLine = 16;  // consecutive elements, as in select/top_k.cc

  THINPIPE_KERNEL std::uint32_t position_of(const Job& job, std::uint32_t i) const {
    if (sampling == Sampling::kStrided) {
      return static_cast<std::uint32_t>((2 * std::uint64_t{i} + 1) * job.n /
                                        (2 * std::uint64_t{job.sampled}));
    }
    const bool lines = sampling == Sampling::kLines && job.n >= kLine;
    SplitMix64 random(job.sample_seed);
    random.skip(lines ? i / kLine : i);
    if (lines) return kLine * static_cast<std::uint32_t>(random.below(job.n / kLine)) + i % kLine;
    return static_cast<std::uint32_t>(random.below(job.n));
  }
};

}  // namespace thinpipe::cuda
