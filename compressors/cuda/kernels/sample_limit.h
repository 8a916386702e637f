// Estimates a magnitude limit from a random sample, so that most likely slightly more than k
// elements reach it (first step of exact top-k; select/top_k.cc).
#pragma once

#include <cstdint>

#include "base/splitmix64.h"
#include "compressors/cuda/kernels/digits.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/rules.h"
#include "compressors/cuda/kernels/source.h"

namespace thinpipe::cuda {

/// Keys that fit into shared memory.
constexpr std::uint32_t kMaxSample = 8192;

/// Draws Job::sampled random elements of c (gradient plus memory), and sets Findings::limit to the
/// Job::sample_rank-th greatest of their keys. Runs before the memory's update. Grid: one block per
/// tensor.
template <KeyOrder order = KeyOrder::kMagnitude>
struct SampleLimit {
  static constexpr int kThreads = 1024;
  struct Shared {
    std::uint32_t keys[kMaxSample];
    std::uint32_t bins[kBins];
    DigitSearch search;
  };

  const Job* jobs;
  const Job* to;  ///< jobs whose limits are set

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Job job = jobs[block.index()];
    if (job.sample_rank == 0) {
      block.each([&](int t) {
        if (t == 0) to[block.index()].findings->limit = 0;
      });
      return;
    }
    block.each([&](int t) {
      if (t == 0) shared.search = {0, job.sample_rank};
      // All of a thread's reads are under way before it stores the first key.
      std::uint32_t keys[kMaxSample / kThreads];
      for (std::uint32_t j = 0; j < kMaxSample / kThreads; ++j) {
        const std::uint32_t i = j * kThreads + static_cast<std::uint32_t>(t);
        if (i >= job.sampled) continue;
        SplitMix64 random(job.sample_seed);
        random.skip(i);
        const auto at = static_cast<std::uint32_t>(random.below(job.n));
        keys[j] = rank_of<order>(peek(job, at));
      }
      for (std::uint32_t j = 0; j < kMaxSample / kThreads; ++j) {
        const std::uint32_t i = j * kThreads + static_cast<std::uint32_t>(t);
        if (i < job.sampled) shared.keys[i] = keys[j];
      }
    });
    for (int digit = 0; digit < kDigits; ++digit) {
      block.each([&](int t) {
        for (auto i = static_cast<std::uint32_t>(t); i < kBins; i += kThreads) shared.bins[i] = 0;
      });
      block.each([&](int t) {
        for (auto i = static_cast<std::uint32_t>(t); i < job.sampled; i += kThreads) {
          if (shared.search.matches(shared.keys[i], digit))
            block.add(&shared.bins[DigitSearch::value(shared.keys[i], digit)], 1);
        }
      });
      find_digit(block, shared.bins, digit, shared.search);
    }
    block.each([&](int t) {
      if (t == 0) to[block.index()].findings->limit = shared.search.known;
    });
  }
};

}  // namespace thinpipe::cuda
