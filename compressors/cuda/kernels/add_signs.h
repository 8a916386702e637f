// Sums of the positive and the negative elements of whole tensors, in the order of
// kernels/sign_bits.cc.
#pragma once

#include <cstdint>
#include <limits>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/signs.h"
#include "compressors/cuda/kernels/source.h"

namespace thinpipe::cuda {

/// Blocks in a tile of kSumTile elements. A warp adds up a block.
constexpr std::uint32_t kSignBlocks = kSumTile / kSignBlock;

/// Returns the number of SignedSums in Job::block_sums: one per block, then one for each element
/// after the last full row of lanes. These last elements are added one by one.
constexpr std::size_t sign_sums_of(std::size_t n) { return n / kSignBlock + 1 + kSignLanes; }

/// Sets Findings::scale and Findings::negative to the values to which positive and negative signs
/// decode. If a tensor's sums are not finite, its scale becomes NaN. A second run with `repair`
/// corrects these tensors with sums over finite values only, and skips all other tensors. Grid: the
/// tiles of kSumTile elements.
template <SignScale kScale, bool repair>
struct AddSigns {
  static constexpr int kThreads = kSignBlocks * kSignLanes;
  static constexpr std::uint32_t kRows = kSignBlock / kSignLanes;
  /// Rows that a thread reads before it adds them up.
  static constexpr std::uint32_t kAtOnce = 4;

  struct Shared {
    SignLane lanes[kThreads];
    SignedSums parts[kSignParts];
    bool is_due;
  };

  const Job* jobs;
  const Tile* tiles;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    if constexpr (repair) {
      block.each([&](int t) {
        if (t == 0) shared.is_due = job.findings->scale != job.findings->scale;
      });
      if (!shared.is_due) return;
    }
    auto* const sums = reinterpret_cast<SignedSums*>(job.block_sums);
    typename Block::template Local<std::uint32_t> negatives;
    block.each([&](int t) {
      const auto thread = static_cast<std::uint32_t>(t);
      const auto lane = thread % static_cast<std::uint32_t>(kSignLanes);
      const std::uint32_t begin = begin_of(tile, thread / kSignLanes);
      if (begin >= job.n) return;
      const std::uint32_t n = size_of(job, begin);
      if constexpr (repair) {
        if (lane == 0) sums[begin / kSignBlock] = finite_sums(job.c() + begin, n);
      } else {
        shared.lanes[thread] = lane_of(job, begin, n / kSignLanes, lane);
        SignLane& own = shared.lanes[thread];
        const std::uint32_t left = n / kSignLanes * kSignLanes + lane;
        if (left < n) {
          SignedSums one;
          const float x = element<Reading::kSum>(job, begin + left);
          add_one<kScale>(x, one);
          own.negatives += x < 0 ? 1 : 0;
          ends(job, sums)[lane] = one;
        }
        negatives[t] = own.negatives;
      }
    });
    if constexpr (!repair) {
      const std::uint32_t count = block.sum(negatives);
      block.each([&](int t) {
        const auto at = static_cast<std::uint32_t>(t);
        if (t == 0) block.add(&job.findings->tail, count);
        if (at >= kSignBlocks || begin_of(tile, at) >= job.n) return;
        SignedSums own;
        add_lanes<kScale>(shared.lanes + at * kSignLanes, own);
        sums[begin_of(tile, at) / kSignBlock] = own;
      });
    }
    if (block.is_last(&job.findings->arrived, tiles_of(job.n, kSumTile)))
      finish(block, shared, job, sums);
  }

 private:
  THINPIPE_KERNEL static std::uint32_t begin_of(const Tile& tile, std::uint32_t block) {
    return tile.index * kSumTile + block * static_cast<std::uint32_t>(kSignBlock);
  }
  THINPIPE_KERNEL static std::uint32_t size_of(const Job& job, std::uint32_t begin) {
    return job.n - begin < kSignBlock ? job.n - begin : static_cast<std::uint32_t>(kSignBlock);
  }
  THINPIPE_KERNEL static SignedSums* ends(const Job& job, SignedSums* sums) {
    return sums + job.n / kSignBlock + 1;
  }
  THINPIPE_KERNEL static SignLane lane_of(const Job& job, std::uint32_t begin, std::uint32_t rows,
                                          std::uint32_t lane) {
    constexpr auto kLanes = static_cast<std::uint32_t>(kSignLanes);
    SignLane own;
    std::uint32_t at = begin + lane;
    std::uint32_t row = 0;
    for (; row + kAtOnce <= rows; row += kAtOnce, at += kAtOnce * kLanes) {
      Fetched read[kAtOnce];
      for (std::uint32_t j = 0; j < kAtOnce; ++j)
        read[j] = fetch<Reading::kSum>(job, at + j * kLanes);
      for (std::uint32_t j = 0; j < kAtOnce; ++j)
        own.add<kScale>(settle<Reading::kSum>(job, at + j * kLanes, read[j]));
    }
    for (; row < rows; ++row, at += kLanes) own.add<kScale>(element<Reading::kSum>(job, at));
    return own;
  }

  template <class Block>
  THINPIPE_KERNEL void finish(Block& block, Shared& shared, const Job& job,
                              SignedSums* sums) const {
    const std::uint64_t count = (std::uint64_t{job.n} + kSignBlock - 1) / kSignBlock;
    block.each([&](int t) {
      if (t >= static_cast<int>(kSignParts)) return;
      const auto part = static_cast<std::uint64_t>(t);
      SignedSums own;
      for (std::uint64_t i = count * part / kSignParts; i < count * (part + 1) / kSignParts; ++i) {
        join(own, sums[i]);
      }
      if constexpr (!repair) {
        // The part with the last block also adds the elements after it.
        if (count * part / kSignParts < count && count * (part + 1) / kSignParts == count)
          for (std::uint32_t j = 0; j < job.n % kSignLanes; ++j) join(own, ends(job, sums)[j]);
      }
      shared.parts[t] = own;
    });
    block.each([&](int t) {
      if (t != 0) return;
      SignedSums all;
      for (const SignedSums& part : shared.parts) join(all, part);
      Findings& findings = *job.findings;
      all.negatives = findings.tail;
      const bool good = repair || job.n == 0 || !needs_repair(kScale, all);
      const SignValues values = job.n == 0 ? SignValues{} : sign_values(kScale, all, job.n);
      findings.scale = good ? values.positive : std::numeric_limits<float>::quiet_NaN();
      findings.negative = values.negative;
      if (good) findings.tail = 0;
    });
  }
  THINPIPE_KERNEL static void join(SignedSums& sums, const SignedSums& other) {
    sums.positive += other.positive;
    sums.negative += other.negative;
  }
};

}  // namespace thinpipe::cuda
