// Random choices: samples of c (gradient plus memory), drawn before the memory's update, and
// random-k's positions, which sender and receiver draw independently.
#pragma once

#include <cstdint>

#include "base/splitmix64.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/kth.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/select/top_k.h"

namespace thinpipe::cuda {

/// Draws a sample of Job::sampled elements, the same ones as sample_keys(), and sets Job::sample to
/// their keys as unsigned numbers (rank_of()). Grid: the tiles of kTile elements.
template <KeyOrder order = KeyOrder::kMagnitude>
struct GatherSample : OnTiles {
  static constexpr int kThreads = 256;

  const Job* to;  ///< jobs that receive the samples
  Sampling sampling;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    each_of_tile(block, tile.index, job.sampled, [&](std::uint32_t i) {
      to[tile.job].sample[i] = rank_of<order>(peek(job, position_of(job, i)));
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

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared) const {
    const Job job = jobs[block.index()];
    if (job.sample_rank == 0) {
      once(block, [&] { to[block.index()].findings->limit = 0; });
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
      each_of(block, kBins, [&](std::uint32_t i) { shared.bins[i] = 0; });
      each_of(block, job.sampled, [&](std::uint32_t i) {
        if (shared.search.matches(shared.keys[i], digit))
          block.add(&shared.bins[DigitSearch::value(shared.keys[i], digit)], 1);
      });
      find_digit(block, shared.bins, digit, shared.search);
    }
    once(block, [&] { to[block.index()].findings->limit = shared.search.known; });
  }
};

// Random-k's positions.

constexpr int kDrawThreads = 1024;

/// Draws `count` <= n positions, as SeededPositions::draw() does, and sets their bits in `bitmap`.
/// Each round draws one number for every position that is still missing. One block does all rounds,
/// because only threads of a block can wait for each other.
template <class Block>
THINPIPE_KERNEL void draw(Block& block, std::uint32_t* bitmap, std::uint32_t n, std::uint32_t count,
                          std::uint64_t seed, std::uint32_t tag) {
  const bool others = count > n / 2;
  const std::uint32_t draws = others ? n - count : count;
  const SplitMix64 first(SplitMix64::mix(seed ^ SplitMix64::mix(tag)));
  const auto words = static_cast<std::uint32_t>((std::uint64_t{n} + 31) / 32);
  each_of(block, words, [&](std::uint32_t i) { bitmap[i] = 0; });
  std::uint64_t numbers = 0;
  for (std::uint32_t drawn = 0; drawn < draws;) {
    const std::uint32_t some = draws - drawn;
    typename Block::template Local<std::uint32_t> fresh;
    block.each([&](int t) {
      fresh[t] = 0;
      for (auto i = static_cast<std::uint32_t>(t); i < some; i += kDrawThreads) {
        SplitMix64 random = first;
        random.skip(numbers + i);
        const auto at = static_cast<std::uint32_t>(random.below(n));
        const std::uint32_t bit = std::uint32_t{1} << at % 32;
        fresh[t] += (block.set_bits(&bitmap[at / 32], bit) & bit) == 0 ? 1 : 0;
      }
    });
    numbers += some;
    drawn += block.sum(fresh);
  }
  if (!others) return;
  each_of(block, words, [&](std::uint32_t i) {
    const bool part = i + 1 == words && n % 32 != 0;
    bitmap[i] = ~bitmap[i] & (part ? (std::uint32_t{1} << n % 32) - 1 : ~std::uint32_t{0});
  });
}

/// Draws Job::target positions of every tensor, for step Job::tag. Grid: one block per tensor.
struct DrawForStep {
  static constexpr int kThreads = kDrawThreads;
  struct Shared {};

  const Job* jobs;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Job job = jobs[block.index()];
    draw(block, job.drawn, job.n, job.target, job.sample_seed, job.tag);
  }
};

/// Draws the positions of a payload, for the step that it names. Grid: one block per payload.
struct DrawForPayload {
  static constexpr int kThreads = kDrawThreads;
  struct Shared {};

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    const PayloadParts parts = payload.open();
    if (parts.problem != PayloadProblem::kNone) return;
    draw(block, job.drawn, payload.n, parts.count, job.seed, payload.word_at(parts.positions));
  }
};

}  // namespace thinpipe::cuda
