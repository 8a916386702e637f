// Draws random-k's positions, which sender and receiver draw independently.
#pragma once

#include <cstdint>

#include "base/splitmix64.h"
#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

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

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Job job = jobs[block.index()];
    draw(block, job.drawn, job.n, job.target, job.sample_seed, job.tag);
  }
};

/// Draws the positions of a payload, for the step that it names. Grid: one block per payload.
struct DrawForPayload {
  static constexpr int kThreads = kDrawThreads;
  struct Shared {};

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const DecodeJob& job) const {
    const PayloadView& payload = job.payload;
    const PayloadParts parts = payload.open();
    if (parts.problem != PayloadProblem::kNone) return;
    draw(block, job.drawn, payload.n, parts.count, job.seed, payload.word_at(parts.positions));
  }
};

}  // namespace thinpipe::cuda
