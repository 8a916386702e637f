// Codes of equidistant levels, with rounding to nearest (int8) or stochastic rounding (QSGD,
// TernGrad).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/codes.h"
#include "compressors/kernels/keys.h"
#include "compressors/kernels/quantize.h"
#include "compressors/kernels/random.h"
#include "compressors/kernels/sums.h"
#include "compressors/wire/scale.h"

namespace thinpipe::cuda {

/// Returns the step of levels, and its inverse.
THINPIPE_KERNEL inline CodeValues step_values(float step) {
  return {step, step == 0 ? 0 : 1 / step};
}

/// Common part of level codes. For a whole tensor, the step is Findings::scale.
struct LevelValues {
  static constexpr bool kLooksFirst = true;

  THINPIPE_KERNEL static CodeValues values_of(const Job& job) {
    return step_values(job.shared_scale > 0 ? level_step(job.shared_scale, 1)
                                            : job.findings->scale);
  }
  THINPIPE_KERNEL static bool good(const CodeValues& values) {
    return std::bit_cast<std::uint32_t>(values.first) < kInfinityBits;
  }
  THINPIPE_KERNEL static CodeValues read(const CodeValues& values, float factor) {
    return {factor * values.first, 0};
  }
};

/// Levels up to the maximum magnitude.
struct GreatestRange {
  using Partial = std::uint32_t;
  using Sums = MagnitudeSums;

  THINPIPE_KERNEL static float reach(const Totals& totals) {
    return magnitude_of(static_cast<std::int32_t>(totals.most));
  }

  THINPIPE_KERNEL static Partial chain(const float* x, std::uint32_t n, std::uint32_t which) {
    Partial most = 0;
    for (std::uint32_t i = which; i < n; i += kChains) {
      const auto own = static_cast<Partial>(key_of(x[i], KeyOrder::kMagnitude));
      most = own > most ? own : most;
    }
    return most;
  }
  THINPIPE_KERNEL static float reach(const float* /*x*/, std::uint32_t /*n*/,
                                     const Partial* partials) {
    Partial most = 0;
    for (std::uint32_t i = 0; i < kChains; ++i) most = partials[i] > most ? partials[i] : most;
    return magnitude_of(static_cast<std::int32_t>(most));
  }
};

/// Levels up to the L2 norm (l2_norm() in kernels/levels.cc).
struct NormRange {
  using Partial = float;
  using Sums = SquareSums;
  static constexpr std::uint32_t kLanes = 16;

  THINPIPE_KERNEL static float reach(const Totals& totals) {
    return finite(std::sqrt(totals.squares));
  }
  THINPIPE_KERNEL static Partial chain(const float* x, std::uint32_t n, std::uint32_t which) {
    Partial sum = 0;
    for (std::uint32_t i = which; i + (kChains - which) <= n; i += kChains) {
      const float square = x[i] * x[i];
      sum = sum + square;
    }
    return sum;
  }
  THINPIPE_KERNEL static float reach(const float* x, std::uint32_t n, const Partial* partials) {
    const float sum = sum_of(x, n, partials);
    if (sum >= 0x1p-80F && sum <= 0x1p120F) return std::sqrt(sum);
    // The float sum underflowed or overflowed: repeat it in double.
    double squares = 0;
    for (std::uint32_t which = 0; which < kChains; ++which)
      squares += SquareChains::chain(x, n, which);
    return finite(std::sqrt(SquareChains::join_rest(x, n, squares)));
  }

 private:
  THINPIPE_KERNEL static float sum_of(const float* x, std::uint32_t n, const Partial* partials) {
    float sums[kLanes];
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      sums[i] = (partials[i] + partials[kLanes + i]) +
                (partials[2 * kLanes + i] + partials[3 * kLanes + i]);
    }
    float rest = 0;
    for (std::uint32_t i = n / kChains * kChains; i < n; ++i) {
      const float square = x[i] * x[i];
      rest = rest + square;
    }
    for (std::uint32_t half = kLanes / 2; half > 0; half /= 2)
      for (std::uint32_t i = 0; i < half; ++i) sums[i] = sums[i] + sums[i + half];
    return sums[0] + rest;
  }
};

/// Returns TernGrad's scale from statistics of a tensor's or a bucket's elements.
THINPIPE_KERNEL inline float clipped_scale(const Spread& spread, double sigmas) {
  // A variance below this fraction of the mean square comes from rounding of equal values.
  constexpr double kNoSpread = 1e-12;
  const float most = spread.max_magnitude;
  const double square = spread.squares / static_cast<double>(spread.count);
  const double variance = spread.variance();
  if (!(variance > kNoSpread * square)) return level_step(most, 1);
  const double limit = sigmas * std::sqrt(variance);
  // With a NaN in the tensor, the limit does not apply.
  return level_step(static_cast<double>(most) > limit ? finite(limit) : most, 1);
}

/// Levels up to a number of standard deviations, or up to the maximum magnitude if that is less
/// (TernGrad).
struct ClippedRange {
  struct Partial {
    double sum;
    double squares;
    std::uint32_t most;
  };
  using Sums = SpreadSums;
  double sigmas;

  THINPIPE_KERNEL float reach(const Totals& totals) const {
    Spread spread;
    spread.sum = totals.sum;
    spread.squares = totals.squares;
    spread.count = totals.count;
    spread.max_magnitude = magnitude_of(static_cast<std::int32_t>(totals.most));
    return totals.count == 0 ? 0 : clipped_scale(spread, sigmas);
  }
  THINPIPE_KERNEL static Partial chain(const float* x, std::uint32_t n, std::uint32_t which) {
    constexpr std::uint32_t kLanes = 16;
    const std::uint32_t rows = n / kChains;
    const float* const stream = x + which / kLanes * (rows * kLanes) + which % kLanes;
    Partial own{0, 0, GreatestRange::chain(x, n, which)};
    for (std::uint32_t row = 0; row < rows; ++row) {
      const auto value = static_cast<double>(stream[row * kLanes]);
      own.sum += value;
      own.squares += value * value;
    }
    return own;
  }
  THINPIPE_KERNEL float reach(const float* x, std::uint32_t n, const Partial* partials) const {
    Spread spread;
    spread.count = n;
    std::uint32_t most = 0;
    for (std::uint32_t i = 0; i < kChains; ++i) {
      spread.sum += partials[i].sum;
      spread.squares += partials[i].squares;
      most = partials[i].most > most ? partials[i].most : most;
    }
    for (std::uint32_t i = n / kChains * kChains; i < n; ++i) {
      const auto value = static_cast<double>(x[i]);
      spread.sum += value;
      spread.squares += value * value;
    }
    spread.max_magnitude = magnitude_of(static_cast<std::int32_t>(most));
    return clipped_scale(spread, sigmas);
  }
};

/// 255 levels with rounding to nearest (kernels/quantize.h).
struct Int8Code : LevelValues, GreatestRange {
  THINPIPE_BOTH static CodeLayout layout() { return {.header = 4, .bits = 8}; }
  THINPIPE_KERNEL static float levels() { return 127; }

  THINPIPE_KERNEL static CodeValues values(const float* x, std::uint32_t n, bool /*whole*/,
                                           const Partial* partials) {
    return step_values(level_step(reach(x, n, partials), levels()));
  }
  THINPIPE_KERNEL static std::uint32_t encode(float x, const CodeValues& values, RandomKey /*key*/,
                                              std::uint32_t /*index*/, float& decoded,
                                              std::uint32_t& nonzero) {
    constexpr float kShift = 12582912;  // 1.5 * 2^23: the sum's last bit has the value 1
    float y = (x - x == 0 ? x : 0.0F) * values.second;
    y = y > 127 ? 127.0F : y < -127 ? -127.0F : y;
    const float shifted = y + kShift;
    decoded = (shifted - kShift) * values.first;
    const std::uint32_t code = std::bit_cast<std::uint32_t>(shifted) & 0xff;
    nonzero += code == 0 ? 0 : 1;
    return code;
  }
  THINPIPE_KERNEL static float decode(std::uint32_t code, const CodeValues& values) {
    return static_cast<float>(static_cast<std::int8_t>(code)) * values.first;
  }
};

/// Levels with stochastic rounding (LevelRounding).
template <class Range>
struct LevelCode : LevelValues, Range {
  int bits;

  THINPIPE_BOTH CodeLayout layout() const { return {.header = 4, .bits = bits}; }
  THINPIPE_KERNEL float levels() const { return static_cast<float>(levels_of(bits)); }

  THINPIPE_KERNEL CodeValues values(const float* x, std::uint32_t n, bool /*whole*/,
                                    const typename Range::Partial* partials) const {
    return step_values(level_step(Range::reach(x, n, partials), levels()));
  }
  THINPIPE_KERNEL std::uint32_t encode(float x, const CodeValues& values, RandomKey key,
                                       std::uint32_t index, float& decoded,
                                       std::uint32_t& nonzero) const {
    const auto most = static_cast<std::uint32_t>(levels_of(bits));
    const int fraction = 24 - bits;  // fraction bits of y and of the random number
    const float magnitude = std::fabs(x);
    float y = (magnitude < std::numeric_limits<float>::infinity() ? magnitude : 0) * values.second;
    y = y < static_cast<float>(most) ? y : static_cast<float>(most);
    // The mantissa of 2^(bits-1) + y is y, with `fraction` fraction bits.
    const auto placed = std::bit_cast<std::uint32_t>(y + static_cast<float>(1 << (bits - 1)));
    const std::uint32_t level =
        (placed + (paired_random(key, index) >> (32 - fraction))) >> fraction & most;
    const bool negative = std::bit_cast<std::uint32_t>(x) >> 31 != 0;
    const float term = static_cast<float>(level) * values.first;
    decoded = negative ? -term : term;
    if (level == 0) return 0;
    ++nonzero;
    return level | (negative ? 1U << (bits - 1) : 0);
  }
  THINPIPE_KERNEL float decode(std::uint32_t code, const CodeValues& values) const {
    const auto most = static_cast<std::uint32_t>(levels_of(bits));
    const auto magnitude = static_cast<float>(code & most);
    return (code > most ? -magnitude : magnitude) * values.first;
  }
};

/// Sets Findings::scale to the step of a whole tensor.
template <class Code>
struct FitStep {
  Code code;

  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    job.findings->scale = level_step(code.reach(totals), code.levels());
  }
};

}  // namespace thinpipe::cuda
