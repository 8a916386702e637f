// Statistics of magnitudes in one pass, in the order in which kernels/moments.cc adds them up: the
// same bits.
#pragma once

#include <cmath>
#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/kernels/keys.h"
#include "compressors/kernels/moments_order.h"

namespace thinpipe::cuda {

/// Which elements count.
enum class Of {
  kAll,
  kTail,  ///< magnitude keys of at least Findings::limit
};

/// What is known when all are added up.
struct Totals {
  double sum = 0;  ///< of magnitudes
  std::uint32_t count = 0;
  std::uint32_t most = 0;  ///< the greatest magnitude key
};

/// Adds up magnitudes and finds the greatest; then one thread calls then(job, totals), of every
/// tensor. A block of threads reads a block of moments.cc: four streams of rows of 16, of
/// which a thread adds up to 128 rows of one lane in float. Grid: the tiles of kSumTile elements.
template <Reading reading, Of of, class Then>
struct AddUp {
  static constexpr int kThreads = kMomentPartials * kMomentFlushes;
  /// Rows that a thread reads before it adds them up.
  static constexpr std::uint32_t kAtOnce = 8;

  struct Shared {
    float partial[kThreads];
    double sums[kMomentPartials];
  };

  const Job* jobs;
  const Tile* tiles;
  std::uint32_t fit;     ///< from 1 on; only of tensors that have as many
  std::uint32_t choice;  ///< whose elements are read (kChosen)
  Then then;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    if (job.fits < fit) return;
    const std::uint32_t from = place_of(choice);
    const std::uint32_t n = elements_of<reading>(job, from);
    const std::uint32_t blocks = tiles_of(n, kSumTile);
    if (tile.index >= blocks) return;
    const std::uint32_t begin = tile.index * kSumTile;
    const std::uint32_t some = n - begin < kSumTile ? n - begin : kSumTile;
    const std::uint32_t rows = some / kMomentPartials;
    typename Block::template Local<std::uint32_t> keys;
    typename Block::template Local<std::uint32_t> counts;
    const std::int32_t limit = static_cast<std::int32_t>(job.findings->limit);
    block.each([&](int t) {
      const auto thread = static_cast<std::uint32_t>(t);
      const std::uint32_t partial = thread % kMomentPartials;
      const std::uint32_t first = thread / kMomentPartials * kMomentRows;
      const std::uint32_t last = first + kMomentRows < rows ? first + kMomentRows : rows;
      std::uint32_t at = begin + partial / kMomentLanes * rows * kMomentLanes +
                         first * kMomentLanes + partial % kMomentLanes;
      float sum = 0;
      std::uint32_t key = 0;
      std::uint32_t count = 0;
      std::uint32_t row = first;
      for (; row + kAtOnce <= last; row += kAtOnce, at += kAtOnce * kMomentLanes) {
        Fetched read[kAtOnce];
        for (std::uint32_t j = 0; j < kAtOnce; ++j)
          read[j] = fetch<reading>(job, from, at + j * kMomentLanes);
        for (std::uint32_t j = 0; j < kAtOnce; ++j)
          take(settle<reading>(job, at + j * kMomentLanes, read[j]), limit, sum, key, count);
      }
      for (; row < last; ++row, at += kMomentLanes)
        take(element<reading>(job, from, at), limit, sum, key, count);
      shared.partial[thread] = sum;
      keys[t] = key;
      counts[t] = count;
    });
    block.each([&](int t) {
      const auto thread = static_cast<std::uint32_t>(t);
      if (thread < kMomentPartials) {
        double sum = 0;
        for (std::uint32_t flush = 0; flush < kMomentFlushes; ++flush)
          sum += static_cast<double>(shared.partial[flush * kMomentPartials + thread]);
        shared.sums[thread] = sum;
      }
      // Less than a row of each stream, at the end of the tensor.
      const std::uint32_t left = rows * kMomentPartials + thread;
      if (left < some) {
        float value = 0;
        take(element<reading>(job, from, begin + left), limit, value, keys[t], counts[t]);
        shared.partial[thread] = value;
      }
    });
    const std::uint32_t most = block.greatest(keys);
    const std::uint32_t count = block.sum(counts);
    block.each([&](int t) {
      if (t != 0) return;
      double sum = 0;
      for (std::uint32_t i = 0; i < kMomentPartials; ++i) sum += shared.sums[i];
      job.block_sums[tile.index] = sum;
      // Added one by one at the very end, after all blocks.
      double* const ends = job.block_sums + tiles_of(job.n, kSumTile);
      for (std::uint32_t i = rows * kMomentPartials; i < some; ++i)
        ends[i - rows * kMomentPartials] =
            static_cast<double>(shared.partial[i - rows * kMomentPartials]);
      block.set_greatest(&job.findings->most, most);
      if constexpr (of == Of::kTail) block.add(&job.findings->tail, count);
    });
    if (block.is_last(&job.findings->arrived, blocks)) finish(block, shared, job, n, blocks);
  }

 private:
  THINPIPE_KERNEL static void take(float x, std::int32_t limit, float& sum, std::uint32_t& key,
                                   std::uint32_t& count) {
    const std::int32_t own = key_of(x, KeyOrder::kMagnitude);
    if constexpr (of == Of::kTail) {
      if (own < limit) return;
      ++count;
    }
    sum += magnitude_of(own);
    key = static_cast<std::uint32_t>(own) > key ? static_cast<std::uint32_t>(own) : key;
  }

  template <class Block>
  THINPIPE_KERNEL void finish(Block& block, Shared& shared, const Job& job, std::uint32_t n,
                              std::uint32_t blocks) const {
    const std::uint32_t full = n / kSumTile;
    block.each([&](int t) {
      if (t >= static_cast<int>(kMomentParts)) return;
      const auto part = static_cast<std::uint64_t>(t);
      double sum = 0;
      for (std::uint64_t i = full * part / kMomentParts; i < full * (part + 1) / kMomentParts; ++i)
        sum += job.block_sums[i];
      shared.sums[t] = sum;
    });
    block.each([&](int t) {
      if (t != 0) return;
      double sum = full < blocks ? job.block_sums[full] : 0;
      for (std::uint32_t part = 0; part < kMomentParts; ++part) sum += shared.sums[part];
      const double* const ends = job.block_sums + tiles_of(job.n, kSumTile);
      for (std::uint32_t i = 0; i < n % kMomentPartials; ++i) sum += ends[i];
      Findings& findings = *job.findings;
      then(job, Totals{sum, of == Of::kTail ? findings.tail : n, findings.most});
      findings.tail = 0;
      findings.most = 0;
    });
  }
};

}  // namespace thinpipe::cuda
