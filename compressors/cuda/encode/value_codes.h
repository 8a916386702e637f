// Value codecs for kernels (encode/value_codec.h): how they encode, decode and read values.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "compressors/cuda/encode/measure_values.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/payload.h"
#include "compressors/cuda/kernels/rules.h"
#include "compressors/element_type.h"
#include "compressors/encode/value_codes.h"
#include "compressors/wire/scale.h"

namespace thinpipe::cuda {

/// The common part of codes. A code also has
///   size()      the encoded size of values
///   word()      the i-th word of the encoded values; bytes after the last value are 0
///   decoded()   the i-th value after encoding and decoding
///   read()      the i-th value of a payload; clears `good` if the value is invalid
struct PlainCode {
  using Measure = NoMeasure;  ///< statistics of all values that it needs before it writes

  /// Returns whether the header before the values, at byte `at`, is valid.
  THINPIPE_KERNEL static bool good(const PayloadView& /*view*/, std::uint32_t /*at*/) {
    return true;
  }
};

/// 32-bit floats.
struct Fp32Values : PlainCode {
  static ValueSize size() { return {}; }

  THINPIPE_KERNEL std::uint32_t word(const Job& /*job*/, const float* values,
                                     std::uint32_t /*count*/, std::uint32_t i) const {
    return std::bit_cast<std::uint32_t>(values[i]);
  }
  THINPIPE_KERNEL float decoded(const Job& /*job*/, std::uint32_t /*i*/, float value) const {
    return value;
  }
  THINPIPE_KERNEL float read(const PayloadView& view, std::uint32_t at, std::uint32_t i,
                             bool& /*good*/) const {
    return std::bit_cast<float>(view.word_at(at + 4 * i));
  }
};

/// 16-bit floats.
struct HalfValues : PlainCode {
  static ValueSize size() { return {.bits = 16}; }

  HalfFormat format;

  THINPIPE_KERNEL std::uint32_t word(const Job& /*job*/, const float* values, std::uint32_t count,
                                     std::uint32_t i) const {
    std::uint32_t bits = to_half(values[2 * i], format);
    if (2 * i + 1 < count) bits |= std::uint32_t{to_half(values[2 * i + 1], format)} << 16;
    return bits;
  }
  THINPIPE_KERNEL float decoded(const Job& /*job*/, std::uint32_t /*i*/, float value) const {
    return from_half(to_half(value, format), format);
  }
  THINPIPE_KERNEL float read(const PayloadView& view, std::uint32_t at, std::uint32_t i,
                             bool& good) const {
    const auto half = static_cast<std::uint16_t>(view.word_at(at + 2 * i));
    good = good && is_finite_half(half, format);
    return from_half(half, format);
  }
};

/// Returns the i-th word of sign bits: 1 for negative values.
template <class Negative>
THINPIPE_KERNEL std::uint32_t sign_word(const float* values, std::uint32_t count, std::uint32_t i,
                                        Negative negative) {
  std::uint32_t bits = 0;
  for (std::uint32_t j = 0; j < 32 && 32 * i + j < count; ++j)
    bits |= std::uint32_t{negative(values[32 * i + j])} << j;
  return bits;
}
THINPIPE_KERNEL inline bool sign_at(const PayloadView& view, std::uint32_t at, std::uint32_t i) {
  return (view.byte_at(at + i / 8) >> i % 8 & 1) != 0;
}

/// Strom's steps: one sign bit per value.
struct TauValues : PlainCode {
  static ValueSize size() { return {.bits = 1}; }

  float tau;

  THINPIPE_KERNEL std::uint32_t word(const Job& /*job*/, const float* values, std::uint32_t count,
                                     std::uint32_t i) const {
    return sign_word(values, count, i, [](float value) { return std::signbit(value); });
  }
  THINPIPE_KERNEL float decoded(const Job& /*job*/, std::uint32_t /*i*/, float value) const {
    return std::signbit(value) ? -tau : tau;
  }
  THINPIPE_KERNEL float read(const PayloadView& view, std::uint32_t at, std::uint32_t i,
                             bool& /*good*/) const {
    return sign_at(view, at, i) ? -tau : tau;
  }
};

THINPIPE_KERNEL inline bool good_scale(const PayloadView& view, std::uint32_t at) {
  return view.word_at(at) < kInfinityBits;  // finite, its sign bit clear
}
/// The common part of codes whose header is a scale.
struct ScaledCode {
  THINPIPE_KERNEL static bool good(const PayloadView& view, std::uint32_t at) {
    return good_scale(view, at);
  }
};

/// One mean magnitude, and a sign bit per value.
struct SignedMeans : ScaledCode {
  using Measure = MeanOfMagnitudes;
  static ValueSize size() { return {.bits = 1, .head = 4}; }

  THINPIPE_KERNEL std::uint32_t word(const Job& job, const float* values, std::uint32_t count,
                                     std::uint32_t i) const {
    if (i == 0) return std::bit_cast<std::uint32_t>(job.findings->scale);
    return sign_word(values, count, i - 1, [](float value) { return value < 0; });
  }
  THINPIPE_KERNEL float decoded(const Job& job, std::uint32_t /*i*/, float value) const {
    return value < 0 ? -job.findings->scale : job.findings->scale;
  }
  THINPIPE_KERNEL float read(const PayloadView& view, std::uint32_t at, std::uint32_t i,
                             bool& /*good*/) const {
    const float mean = std::bit_cast<float>(view.word_at(at));
    return sign_at(view, at + 4, i) ? -mean : mean;
  }
};

/// One mean for all values.
struct MeanValues : PlainCode {
  using Measure = MeanOfValues;
  static ValueSize size() { return {.bits = 0, .head = 4}; }

  THINPIPE_KERNEL std::uint32_t word(const Job& job, const float* /*values*/,
                                     std::uint32_t /*count*/, std::uint32_t /*i*/) const {
    return std::bit_cast<std::uint32_t>(job.findings->scale);
  }
  THINPIPE_KERNEL float decoded(const Job& job, std::uint32_t /*i*/, float /*value*/) const {
    return job.findings->scale;
  }
  THINPIPE_KERNEL float read(const PayloadView& view, std::uint32_t at, std::uint32_t /*i*/,
                             bool& /*good*/) const {
    return std::bit_cast<float>(view.word_at(at));
  }
};

/// 255 equal levels.
struct Int8Values : ScaledCode {
  using Measure = StepOfLevels;
  static ValueSize size() { return {.bits = 8, .head = 4}; }

  THINPIPE_KERNEL std::uint32_t word(const Job& job, const float* values, std::uint32_t count,
                                     std::uint32_t i) const {
    if (i == 0) return std::bit_cast<std::uint32_t>(job.findings->scale);
    std::uint32_t bits = 0;
    for (std::uint32_t j = 0; j < 4 && 4 * (i - 1) + j < count; ++j) {
      const auto level = static_cast<std::int32_t>(level_of(job, values[4 * (i - 1) + j]));
      bits |= (static_cast<std::uint32_t>(level) & 0xff) << 8 * j;
    }
    return bits;
  }
  THINPIPE_KERNEL float decoded(const Job& job, std::uint32_t /*i*/, float value) const {
    return level_of(job, value) * job.findings->scale;
  }
  THINPIPE_KERNEL float read(const PayloadView& view, std::uint32_t at, std::uint32_t i,
                             bool& /*good*/) const {
    const float step = std::bit_cast<float>(view.word_at(at));
    return static_cast<float>(static_cast<std::int8_t>(view.byte_at(at + 4 + i))) * step;
  }

 private:
  THINPIPE_KERNEL static float level_of(const Job& job, float value) {
    constexpr float kLevels = 127;
    const float step = job.findings->scale;
    const float inverse = step == 0 ? 0 : 1 / step;
    const float scaled = value != value ? 0 : value * inverse;
    return round_to_even(std::clamp(scaled, -kLevels, kLevels));
  }
};

/// A sign, and three bits of the exponent relative to the greatest, which is in Findings::scale.
struct Exp4Values {
  using Measure = GreatestExponent;
  static ValueSize size() { return {.bits = 4, .head = 2}; }

  THINPIPE_KERNEL std::uint32_t word(const Job& job, const float* values, std::uint32_t count,
                                     std::uint32_t i) const {
    const int greatest = static_cast<int>(job.findings->scale);
    // The first word begins with the greatest exponent, instead of four codes.
    std::uint32_t bits = i == 0 ? static_cast<std::uint32_t>(greatest) & 0xffff : 0;
    for (std::uint32_t j = i == 0 ? 4 : 0; j < 8 && 8 * i + j - 4 < count; ++j)
      bits |= exp4_code(values[8 * i + j - 4], greatest) << 4 * j;
    return bits;
  }
  THINPIPE_KERNEL float decoded(const Job& job, std::uint32_t /*i*/, float value) const {
    const int greatest = static_cast<int>(job.findings->scale);
    return exp4_decoded(exp4_code(value, greatest), greatest);
  }
  THINPIPE_KERNEL bool good(const PayloadView& view, std::uint32_t at) const {
    const int greatest = greatest_of(view, at);
    return greatest >= kMinExponent && greatest <= kMaxExponent;
  }
  THINPIPE_KERNEL float read(const PayloadView& view, std::uint32_t at, std::uint32_t i,
                             bool& /*good*/) const {
    const std::uint32_t code = view.byte_at(at + 2 + i / 2) >> i % 2 * 4 & 15;
    return exp4_decoded(code, greatest_of(view, at));
  }

 private:
  THINPIPE_KERNEL static int greatest_of(const PayloadView& view, std::uint32_t at) {
    return static_cast<std::int16_t>(view.byte_at(at) | view.byte_at(at + 1) << 8);
  }
};

/// Keeps the values that three bits of exponent can represent.
struct Exp4Admitted : ChosenAsIs {
  int greatest;

  THINPIPE_KERNEL static Exp4Admitted of(const Job& job) {
    return {{}, static_cast<int>(job.findings->scale)};
  }
  THINPIPE_KERNEL Kept look(std::uint32_t /*i*/, float value) const {
    return exponent_below(value, greatest) <= kMaxBelow ? Kept::kYes : Kept::kNo;
  }
};

/// A group's two levels, then two bits for each of its values.
struct Int2Values : PlainCode {  // MeasureInt2 measures each group
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
struct MeasureInt2 : OnTiles {
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

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    const std::uint32_t count = job.findings->counts[job.sent];
    const std::uint32_t begin = tile.index * kTile;
    if (begin >= count) return;
    const float* const values = job.chosen.values;
    // Each thread is one lane of a group.
    const auto each_value = [&](int t, auto body) {
      const auto thread = static_cast<std::uint32_t>(t);
      const std::uint32_t first = begin + thread / kLanes * kInt2Group;
      for (std::uint32_t i = thread % kLanes; i < kInt2Group && first + i < count; i += kLanes)
        body(int2_magnitude(values[first + i]));
    };
    block.each([&](int t) {
      double sum = 0;
      each_value(t, [&](double magnitude) { sum += magnitude; });
      shared.sums[t] = sum;
    });
    const auto size_of = [&](std::uint32_t group) {
      const std::uint32_t first = begin + group * kInt2Group;
      if (first >= count) return 0U;
      return count - first < kInt2Group ? count - first : static_cast<std::uint32_t>(kInt2Group);
    };
    each_of(block, kGroups, [&](std::uint32_t group) {
      if (size_of(group) == 0) return;
      double sum = 0;
      for (std::uint32_t i = 0; i < kLanes; ++i) sum += shared.sums[group * kLanes + i];
      shared.means[group] = sum / static_cast<double>(size_of(group));
    });
    block.each([&](int t) {
      const double mean = shared.means[static_cast<std::uint32_t>(t) / kLanes];
      Int2Sum low;
      Int2Sum high;
      each_value(t, [&](double magnitude) {
        if (magnitude < mean) {
          low.add({magnitude, 1});
        } else {
          high.add({magnitude, 1});
        }
      });
      shared.low[t] = low;
      shared.high[t] = high;
    });
    each_of(block, kGroups, [&](std::uint32_t group) {
      if (size_of(group) == 0) return;
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
