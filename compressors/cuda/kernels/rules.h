// Rules that decide which elements a pass keeps, and which value is sent.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "compressors/cuda/kernels/job.h"
#include "compressors/kernels/keys.h"

namespace thinpipe::cuda {

enum class Kept { kNo, kYes, kTie };

/// The common part of rules. A rule also has
///   of()    the rule for a job
///   look()  whether element i is kept
struct ChosenAsIs {
  static constexpr bool kTies = false;  ///< elements may tie; consecutive ties are kept

  /// Returns how many of the first `count` ties are kept.
  THINPIPE_KERNEL std::uint32_t ties(std::uint32_t /*count*/) const { return 0; }
  /// Returns the value that is sent for an element.
  THINPIPE_KERNEL float sent(float value) const { return value; }
};

/// Returns a key as an unsigned number of the same order.
template <KeyOrder order>
THINPIPE_BOTH std::uint32_t rank_of(float x) {
  const auto key = static_cast<std::uint32_t>(key_of(x, order));
  return order == KeyOrder::kMagnitude ? key : key ^ 0x80000000;
}

/// A rank above all others, except those of signed NaNs.
constexpr std::uint32_t kNoRank = 0xffffffff;

/// Keeps all elements that reach Findings::limit.
template <KeyOrder order = KeyOrder::kMagnitude>
struct Reaching : ChosenAsIs {
  std::uint32_t limit;

  THINPIPE_KERNEL static Reaching of(const Job& job) { return {{}, job.findings->limit}; }
  THINPIPE_KERNEL Kept look(std::uint32_t /*i*/, float value) const {
    return rank_of<order>(value) >= limit ? Kept::kYes : Kept::kNo;
  }
};

/// Keeps all elements above the limit, and the first Findings::ties elements equal to it.
template <KeyOrder order = KeyOrder::kMagnitude>
struct ReachingWithTies : ChosenAsIs {
  static constexpr bool kTies = true;

  std::uint32_t limit;
  std::uint32_t allowed;

  THINPIPE_KERNEL static ReachingWithTies of(const Job& job) {
    return {{}, job.findings->limit, job.findings->ties};
  }
  THINPIPE_KERNEL Kept look(std::uint32_t /*i*/, float value) const {
    const std::uint32_t rank = rank_of<order>(value);
    return rank > limit ? Kept::kYes : rank == limit ? Kept::kTie : Kept::kNo;
  }
  THINPIPE_KERNEL std::uint32_t ties(std::uint32_t count) const {
    return count < allowed ? count : allowed;
  }
};

/// Keeps all elements that exceed tau = Job::factor, and sends their signs (Strom).
struct Stepping : Reaching<> {
  float tau;

  THINPIPE_KERNEL static Stepping of(const Job& job) {
    return {Reaching<>::of(job), static_cast<float>(job.factor)};
  }
  THINPIPE_KERNEL float sent(float value) const { return std::copysign(tau, value); }
};

/// Keeps the elements in Job::drawn, and sends them times Job::factor (random-k).
struct Drawn : ChosenAsIs {
  const std::uint32_t* bits;
  float factor;

  THINPIPE_KERNEL static Drawn of(const Job& job) {
    return {{}, job.drawn, static_cast<float>(job.factor)};
  }
  THINPIPE_KERNEL Kept look(std::uint32_t i, float /*value*/) const {
    return (bits[i / 32] >> i % 32 & 1) != 0 ? Kept::kYes : Kept::kNo;
  }
  THINPIPE_KERNEL float sent(float value) const { return factor * value; }
};

/// Adds the second moments to their sum v, keeps the elements that exceed the variance criterion
/// and reach Findings::limit, and multiplies v by its decay zeta. The hybrid method, with tau =
/// Job::factor > 0, sends steps of +tau or -tau instead of the values.
struct Unambiguous : ChosenAsIs {
  const float* q;
  float* v;
  float* corrected;
  float alpha;
  float zeta;
  float tau;
  std::uint32_t limit;

  THINPIPE_KERNEL static Unambiguous of(const Job& job) {
    return {{},
            job.q,
            job.v,
            job.corrected,
            job.alpha,
            job.zeta,
            static_cast<float>(job.factor),
            job.findings->limit};
  }
  THINPIPE_KERNEL Kept look(std::uint32_t i, float r) const {
    constexpr float kMax = std::numeric_limits<float>::max();
    const float variance = v[i] + q[i];
    v[i] = zeta * variance;
    const float scaled = alpha * variance;
    const bool ambiguous = r * r <= scaled && scaled <= kMax;
    if (ambiguous || rank_of<KeyOrder::kMagnitude>(r) < limit) return Kept::kNo;
    if (corrected != nullptr) {
      const float step = std::copysign(tau, r);
      const float left = variance - 2 * step * r + step * step;
      // Replaces NaN and infinity by 0.
      corrected[i] = left > 0 && left <= kMax ? left : 0.0F;
    }
    return Kept::kYes;
  }
  THINPIPE_KERNEL float sent(float r) const {
    return corrected == nullptr ? r : std::copysign(tau, r);
  }
};

}  // namespace thinpipe::cuda
