// Statistics of all values, which some value codecs need before they write the first one.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/encode/value_codes.h"
#include "compressors/kernels/sums.h"
#include "compressors/wire/scale.h"

namespace thinpipe::cuda {

struct NoMeasure {};

/// The common part of measures. A measure also has found(), which takes the sum, of at least one
/// value, and the maximum rank.
struct AnyMeasure {
  /// Returns a value's term of the sum.
  THINPIPE_KERNEL static double add(float value) { return static_cast<double>(value); }
  /// Returns a value's rank, of which the maximum is found.
  THINPIPE_KERNEL static std::uint32_t rank(float /*value*/) { return 0; }
};

struct MeanOfValues : AnyMeasure {
  THINPIPE_KERNEL static void found(const Job& job, double sum, std::uint32_t count,
                                    std::uint32_t /*greatest*/) {
    job.findings->scale = one_nan(static_cast<float>(sum / static_cast<double>(count)));
  }
};

struct MeanOfMagnitudes : AnyMeasure {
  THINPIPE_KERNEL static double add(float value) { return static_cast<double>(std::fabs(value)); }
  THINPIPE_KERNEL static void found(const Job& job, double sum, std::uint32_t count,
                                    std::uint32_t /*greatest*/) {
    job.findings->scale = finite(sum / static_cast<double>(count));
  }
};

/// Finds the maximum magnitude; its key is the rank. A NaN is never the maximum.
struct MaxMeasure {
  THINPIPE_KERNEL static double add(float /*value*/) { return 0; }
  THINPIPE_KERNEL static std::uint32_t rank(float value) {
    return value != value ? 0 : std::bit_cast<std::uint32_t>(value) & 0x7fffffff;
  }
};

struct StepOfLevels : MaxMeasure {
  THINPIPE_KERNEL static void found(const Job& job, double /*sum*/, std::uint32_t /*count*/,
                                    std::uint32_t greatest) {
    constexpr float kLevels = 127;
    job.findings->scale = level_step(std::bit_cast<float>(greatest), kLevels);
  }
};

/// Stores the greatest exponent in Findings::scale, which represents it exactly.
struct GreatestExponent : MaxMeasure {
  THINPIPE_KERNEL static void found(const Job& job, double /*sum*/, std::uint32_t /*count*/,
                                    std::uint32_t greatest) {
    job.findings->scale = static_cast<float>(greatest_exponent(greatest));
  }
};

/// Mean and minimum magnitude of one side (SBC).
struct SideMean : AnyMeasure {
  /// Ranks the minimum highest; a NaN is never the minimum.
  THINPIPE_KERNEL static std::uint32_t rank(float value) {
    return value != value ? 0 : ~(std::bit_cast<std::uint32_t>(value) & 0x7fffffff);
  }
  THINPIPE_KERNEL static void found(const Job& job, double sum, std::uint32_t count,
                                    std::uint32_t greatest) {
    constexpr std::uint32_t kInfinity = 0x7f800000;
    job.findings->mean = sum / static_cast<double>(count);
    job.findings->threshold =
        static_cast<double>(std::bit_cast<float>(greatest == 0 ? kInfinity : ~greatest));
  }
};

/// Adds up the chosen elements in the order of kernels/sums.h. Grid: the tiles of kSumTile
/// elements.
template <class Measure>
struct MeasureValues : OnTiles {
  static constexpr int kThreads = kValueLanes;
  static_assert(kValueBlock == kSumTile);
  struct Shared {
    double lanes[kValueLanes];
    double sums[kValueParts];
  };

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const std::uint32_t count = job.findings->counts[job.place];
    const std::uint32_t blocks = tiles_of(count, kSumTile);
    if (count == 0 || tile.index >= blocks) return;
    const float* const values = job.chosen.values;
    typename Block::template Local<std::uint32_t> ranks;
    block.each([&](int t) {
      const std::uint32_t begin = tile.index * kSumTile;
      const std::uint32_t end = count - begin < kSumTile ? count : begin + kSumTile;
      double sum = 0;
      std::uint32_t greatest = 0;
      for (auto i = begin + static_cast<std::uint32_t>(t); i < end; i += kThreads) {
        sum += Measure::add(values[i]);
        const std::uint32_t rank = Measure::rank(values[i]);
        greatest = rank > greatest ? rank : greatest;
      }
      shared.lanes[t] = sum;
      ranks[t] = greatest;
    });
    const std::uint32_t greatest = block.greatest(ranks);
    each_of(block, kValueParts, [&](std::uint32_t part) {
      double sum = 0;
      for (std::uint32_t i = part; i < kValueLanes; i += kValueParts) sum += shared.lanes[i];
      shared.sums[part] = sum;
    });
    once(block, [&] {
      job.block_sums[tile.index] = total(shared);
      block.set_greatest(&job.findings->most, greatest);
    });
    if (!block.is_last(&job.findings->arrived, blocks)) return;
    each_of(block, kValueParts, [&](std::uint64_t part) {
      double sum = 0;
      for (std::uint64_t i = blocks * part / kValueParts; i < blocks * (part + 1) / kValueParts;
           ++i)
        sum += job.block_sums[i];
      shared.sums[part] = sum;
    });
    once(block, [&] {
      Measure::found(job, total(shared), count, job.findings->most);
      job.findings->most = 0;
    });
  }

 private:
  THINPIPE_KERNEL static double total(const Shared& shared) {
    double sum = 0;
    for (double part : shared.sums) sum += part;
    return sum;
  }
};

}  // namespace thinpipe::cuda
