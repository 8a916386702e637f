// Values of 2 bits: a sign, and one of two levels of the value's group of 512 (encode/few_bits.cc).
#pragma once

#include <bit>
#include <cstdint>

#include "compressors/cuda/encode/value_codes.h"
#include "compressors/encode/value_codes.h"

namespace thinpipe::cuda {

/// A group's two levels, then two bits for each of its values.
struct Int2Values {
  using Measure = NoMeasure;  ///< MeasureInt2 measures each group

  static constexpr std::uint32_t kGroup = kInt2Group;
  static constexpr std::uint32_t kHeadWords = 2;
  static constexpr std::uint32_t kWordCodes = 16;
  static constexpr std::uint32_t kGroupWords = kHeadWords + kGroup / kWordCodes;
  static constexpr std::uint32_t kGroupBytes = 4 * kGroupWords;

  static ValueSize size() { return {.bits = 2, .head = 4 * kHeadWords, .group = kGroup}; }

  THINPIPE_KERNEL std::uint32_t word(const Job& job, const float* values, std::uint32_t count,
                                     std::uint32_t i) const {
    const std::uint32_t group = i / kGroupWords;
    const std::uint32_t within = i % kGroupWords;
    const Int2Levels levels = job.levels[group];
    if (within < kHeadWords)
      return std::bit_cast<std::uint32_t>(within == 0 ? levels.low : levels.high);
    const std::uint32_t first = group * kGroup + (within - kHeadWords) * kWordCodes;
    std::uint32_t bits = 0;
    for (std::uint32_t j = 0; j < kWordCodes && first + j < count; ++j)
      bits |= levels.code(values[first + j]) << 2 * j;
    return bits;
  }
  THINPIPE_KERNEL float decoded(const Job& job, std::uint32_t i, float value) const {
    const Int2Levels levels = job.levels[i / kGroup];
    return levels.value(levels.code(value));
  }
  THINPIPE_KERNEL bool good(const PayloadView& /*view*/, std::uint32_t /*at*/) const {
    return true;
  }
  THINPIPE_KERNEL float read(const PayloadView& view, std::uint32_t at, std::uint32_t i,
                             bool& good) const {
    const std::uint32_t group = at + i / kGroup * kGroupBytes;
    const std::uint32_t within = i % kGroup;
    good = good && good_scale(view, group) && good_scale(view, group + 4);
    const Int2Levels levels{.mean = 0,
                            .low = std::bit_cast<float>(view.word_at(group)),
                            .high = std::bit_cast<float>(view.word_at(group + 4))};
    return levels.value(view.byte_at(group + 4 * kHeadWords + within / 4) >> within % 4 * 2 & 3U);
  }
};

/// Sets Job::levels to the levels of the sent elements. Grid: the tiles of kTile elements.
struct MeasureInt2 {
  static constexpr int kThreads = 512;
  static constexpr std::uint32_t kLanes = kInt2Lanes;
  static constexpr std::uint32_t kGroups = kTile / kInt2Group;  ///< of a tile
  static_assert(kGroups * kLanes == kThreads);
  struct Shared {
    double sums[kThreads];
    Int2Sum low[kThreads];
    Int2Sum high[kThreads];
    double means[kGroups];
  };

  const Job* jobs;
  const Tile* tiles;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const std::uint32_t count = job.findings->counts[job.sent];
    const std::uint32_t begin = tile.index * kTile;
    if (begin >= count) return;
    const float* const values = job.chosen.values;
    // Each thread is one lane of a group.
    const auto each_of = [&](int t, auto body) {
      const auto thread = static_cast<std::uint32_t>(t);
      const std::uint32_t first = begin + thread / kLanes * kInt2Group;
      for (std::uint32_t i = thread % kLanes; i < kInt2Group && first + i < count; i += kLanes)
        body(int2_magnitude(values[first + i]));
    };
    block.each([&](int t) {
      double sum = 0;
      each_of(t, [&](double magnitude) { sum += magnitude; });
      shared.sums[t] = sum;
    });
    const auto size_of = [&](std::uint32_t group) {
      const std::uint32_t first = begin + group * kInt2Group;
      if (first >= count) return 0U;
      return count - first < kInt2Group ? count - first : static_cast<std::uint32_t>(kInt2Group);
    };
    block.each([&](int t) {
      const auto group = static_cast<std::uint32_t>(t);
      if (group >= kGroups || size_of(group) == 0) return;
      double sum = 0;
      for (std::uint32_t i = 0; i < kLanes; ++i) sum += shared.sums[group * kLanes + i];
      shared.means[group] = sum / static_cast<double>(size_of(group));
    });
    block.each([&](int t) {
      const double mean = shared.means[static_cast<std::uint32_t>(t) / kLanes];
      Int2Sum low;
      Int2Sum high;
      each_of(t, [&](double magnitude) {
        if (magnitude < mean) {
          low.add({magnitude, 1});
        } else {
          high.add({magnitude, 1});
        }
      });
      shared.low[t] = low;
      shared.high[t] = high;
    });
    block.each([&](int t) {
      const auto group = static_cast<std::uint32_t>(t);
      if (group >= kGroups || size_of(group) == 0) return;
      Int2Sum low;
      Int2Sum high;
      for (std::uint32_t i = group * kLanes; i < (group + 1) * kLanes; ++i) {
        low.add(shared.low[i]);
        high.add(shared.high[i]);
      }
      job.levels[begin / kInt2Group + group] = {shared.means[group], low.mean(), high.mean()};
    });
  }
};

}  // namespace thinpipe::cuda
