// Rules that decide which elements a pass keeps, and which value is sent.
#pragma once

#include <cmath>
#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/kernels/keys.h"

namespace thinpipe::cuda {

enum class Kept { kNo, kYes, kTie };

// A rule has
//   kTies   whether elements may tie; consecutive ties are kept
//   of()    the rule for a job
//   look()  whether element i is kept
//   ties()  how many of the first `count` ties are kept
//   sent()  the value that is sent for an element

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
struct Reaching {
  static constexpr bool kTies = false;

  std::uint32_t limit;

  THINPIPE_KERNEL static Reaching of(const Job& job) { return {job.findings->limit}; }
  THINPIPE_KERNEL Kept look(std::uint32_t /*i*/, float value) const {
    return rank_of<order>(value) >= limit ? Kept::kYes : Kept::kNo;
  }
  THINPIPE_KERNEL std::uint32_t ties(std::uint32_t /*count*/) const { return 0; }
  THINPIPE_KERNEL float sent(float value) const { return value; }
};

/// Keeps all elements above the limit, and the first Findings::ties elements equal to it.
template <KeyOrder order = KeyOrder::kMagnitude>
struct ReachingWithTies {
  static constexpr bool kTies = true;

  std::uint32_t limit;
  std::uint32_t allowed;

  THINPIPE_KERNEL static ReachingWithTies of(const Job& job) {
    return {job.findings->limit, job.findings->ties};
  }
  THINPIPE_KERNEL Kept look(std::uint32_t /*i*/, float value) const {
    const std::uint32_t rank = rank_of<order>(value);
    return rank > limit ? Kept::kYes : rank == limit ? Kept::kTie : Kept::kNo;
  }
  THINPIPE_KERNEL std::uint32_t ties(std::uint32_t count) const {
    return count < allowed ? count : allowed;
  }
  THINPIPE_KERNEL float sent(float value) const { return value; }
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
struct Drawn {
  static constexpr bool kTies = false;

  const std::uint32_t* bits;
  float factor;

  THINPIPE_KERNEL static Drawn of(const Job& job) {
    return {job.drawn, static_cast<float>(job.factor)};
  }
  THINPIPE_KERNEL Kept look(std::uint32_t i, float /*value*/) const {
    return (bits[i / 32] >> i % 32 & 1) != 0 ? Kept::kYes : Kept::kNo;
  }
  THINPIPE_KERNEL std::uint32_t ties(std::uint32_t /*count*/) const { return 0; }
  THINPIPE_KERNEL float sent(float value) const { return factor * value; }
};

}  // namespace thinpipe::cuda
