#include "workloads/synthetic/normal_pool.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "compressors/kernels/random.h"
#include "workloads/synthetic/portable_math.h"

namespace thinpipe {
namespace {

// Times sqrt(3) this is slightly more than CopulaTable's 2730, so that 15-bit weights stay below 1.
constexpr double kScale = 1579;
constexpr double kSummed = 3;
// Factor that moves the two outermost quantiles of the pool outwards, because these represent the
// whole tails. With this factor, sums of three pool numbers have the normal distribution's
// kurtosis, and its tails up to 5 standard deviations.
constexpr double kOutermost = 1.035;

using Pool = std::vector<std::int32_t>;

/// Returns the rounded quantiles (i + 0.5) / kSize of the normal distribution, each positive value
/// followed by its negative.
Pool quantiles() {
  Pool pool;
  const auto half = NormalPool::kSize / 2;
  std::vector<std::int32_t> positive;
  for (std::int32_t value = 0; positive.size() < half; ++value) {
    // `count` of the upper half lie below value + 0.5.
    const double below = 1 - 2 * normal_upper((value + 0.5) / kScale);
    const double count = std::min(std::floor(below * double(half) + 0.5), double(half));
    while (static_cast<double>(positive.size()) < count) positive.push_back(value);
  }
  positive.back() = static_cast<std::int32_t>(std::floor(positive.back() * kOutermost + 0.5));
  for (const std::int32_t value : positive) {
    pool.push_back(value);
    pool.push_back(-value);
  }
  return pool;
}

using LagSums = std::array<std::int64_t, NormalPool::kRow>;

double length(const LagSums& sums) {
  double squares = 0;
  for (const std::int64_t sum : sums) squares += static_cast<double>(sum) * double(sum);
  return squares;
}

/// Swaps numbers if the swap brings the sums of products over all lags closer to 0.
void decorrelate(Pool& pool, SplitMix64& random) {
  constexpr std::size_t kMask = NormalPool::kSize - 1;
  constexpr int kTries = 40000;
  LagSums sums = {};
  for (std::size_t lag = 1; lag < sums.size(); ++lag) {
    for (std::size_t i = 0; i < pool.size(); ++i) {
      sums[lag] += std::int64_t{pool[i]} * pool[(i + lag) & kMask];
    }
  }
  double now = length(sums);
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t bits = random.next();
    const std::size_t one = bits & kMask, other = (bits >> 32) & kMask;
    if (((one - other + NormalPool::kRow) & kMask) <= 2 * NormalPool::kRow) continue;  // touching
    LagSums changed = sums;
    const std::int64_t step = pool[other] - pool[one];
    for (std::size_t lag = 1; lag < sums.size(); ++lag) {
      const auto around = [&](std::size_t at) {
        return pool[(at - lag) & kMask] + pool[(at + lag) & kMask];
      };
      changed[lag] += step * (around(one) - around(other));
    }
    const double then = length(changed);
    if (then >= now) continue;
    std::swap(pool[one], pool[other]);
    sums = changed;
    now = then;
  }
}

}  // namespace

NormalPool::NormalPool() {
  Pool pool = quantiles();
  SplitMix64 random(hash_name("normal pool"));
  for (std::size_t i = pool.size() - 1; i > 0; --i) {
    std::swap(pool[i], pool[random.next() % (i + 1)]);
  }
  decorrelate(pool, random);
  double squares = 0;
  for (const std::int32_t value : pool) squares += static_cast<double>(value) * value;
  sigma_ = std::sqrt(kSummed * squares / static_cast<double>(kSize));
  values_.assign(pool.begin(), pool.end());
  values_.insert(values_.end(), values_.begin(), values_.begin() + kRow - 1);
}

double NormalPool::correlation(std::size_t lag) const {
  double products = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    products += static_cast<double>(values_[i]) * values_[(i + lag) % kSize];
  }
  return products / (sigma_ * sigma_ / kSummed * static_cast<double>(kSize));
}

const NormalPool& normal_pool() {
  static const NormalPool kPool;
  return kPool;
}

}  // namespace thinpipe
