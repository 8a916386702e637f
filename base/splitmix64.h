// A small seeded generator that gives the same stream on every machine and compiler.
#pragma once

#include <cstdint>

#include "base/both.h"

namespace thinpipe {

/// SplitMix64 (Steele, Lea and Flood, 2014): one addition and a mix of 64 bits per number.
class SplitMix64 {
 public:
  THINPIPE_BOTH explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  THINPIPE_BOTH std::uint64_t next() { return mix(state_ += kGamma); }

  /// Advances as if next() had been called `numbers` times.
  THINPIPE_BOTH void skip(std::uint64_t numbers) { state_ += numbers * kGamma; }

  /// Returns a uniform random number in [0, n), n < 2^32, as the high half of a product (Lemire,
  /// 2019, without rejection). The relative bias of each number's probability is below n / 2^32,
  /// too small for any sample to show.
  THINPIPE_BOTH std::uint64_t below(std::uint64_t n) { return ((next() >> 32) * n) >> 32; }

  THINPIPE_BOTH static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  static constexpr std::uint64_t kGamma = 0x9e3779b97f4a7c15;

  std::uint64_t state_;
};

}  // namespace thinpipe
