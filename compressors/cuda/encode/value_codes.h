// Value codecs for kernels (encode/value_codec.h): statistics of all values, which some codecs need
// before they write the first one, and how codecs encode, decode and read values.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/payload.h"
#include "compressors/element_type.h"
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

// Codes.

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
THINPIPE_KERNEL std::uint32_t sign_word(const float* values, std::uint32_t count, std::uint32_t i,
                                        auto negative) {
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

}  // namespace thinpipe::cuda
