// The criterion of variance-based compression (kernels/select.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "compressors/cuda/kernels/rules.h"

namespace thinpipe::cuda {

/// Adds the second moments to their sum v, keeps the elements that exceed the variance criterion
/// and reach Findings::limit, and multiplies v by its decay zeta. The hybrid method, with tau =
/// Job::factor > 0, sends steps of +tau or -tau instead of the values.
struct Unambiguous {
  static constexpr bool kTies = false;

  const float* q;
  float* v;
  float* corrected;
  float alpha;
  float zeta;
  float tau;
  std::uint32_t limit;

  THINPIPE_KERNEL static Unambiguous of(const Job& job) {
    return {job.q,
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
  THINPIPE_KERNEL std::uint32_t ties(std::uint32_t /*count*/) const { return 0; }
  THINPIPE_KERNEL float sent(float r) const {
    return corrected == nullptr ? r : std::copysign(tau, r);
  }
};

}  // namespace thinpipe::cuda
