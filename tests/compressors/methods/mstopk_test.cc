// Selection by a search for the limit: MSTopK, RedSync and Gaussian-k, against plain searches.

#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "compressors/kernels/random.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/selectors.h"
#include "compressors/select/distributions.h"
#include "tests/compressors/support/parts.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::positions_above;
using testing::positions_of;

/// Algorithm 1, round by round over all elements.
std::vector<std::uint32_t> plain_mstopk(const std::vector<float>& c, std::size_t k, int rounds,
                                        std::uint64_t seed, std::uint64_t step) {
  const Moments moments = magnitude_moments(c);
  const double mean = moments.sum_magnitude / static_cast<double>(c.size());
  const double range = std::max(0.0, static_cast<double>(moments.max_magnitude) - mean);
  const auto reach = [&](double threshold) {
    return testing::positions_where(
        c, [&](float value) { return static_cast<double>(std::fabs(value)) >= threshold; });
  };
  double l = 0;
  double r = 1;
  double upper = std::numeric_limits<double>::infinity();
  double lower = 0;
  for (int round = 0; round < rounds; ++round) {
    const double ratio = l + (r - l) / 2;
    const double threshold = mean + ratio * range;
    if (reach(threshold).size() <= k) {
      r = ratio;
      upper = threshold;
    } else {
      l = ratio;
      lower = threshold;
    }
  }
  std::vector<std::uint32_t> taken = reach(upper);
  std::vector<std::uint32_t> between;
  for (std::uint32_t i : reach(lower)) {
    if (static_cast<double>(std::fabs(c[i])) < upper) between.push_back(i);
  }
  const std::size_t missing = k - taken.size();
  SplitMix64 random(SplitMix64::mix(seed ^ SplitMix64::mix(step)));
  const std::size_t start = random.below(between.size() - missing + 1);
  for (std::size_t i = 0; i < missing; ++i) taken.push_back(between[start + i]);
  std::sort(taken.begin(), taken.end());
  return taken;
}

TEST(MsTopK, SameAsItsDescription) {
  const auto inputs = testing::without_huge(testing::part_inputs());  // sums of those overflow
  testing::for_each_target_and_input(inputs, [](const std::vector<float>& c) {
    if (c.empty()) return;
    for (int rounds : {1, 4, 25}) {
      for (double ratio : {0.0001, 0.01, 0.1, 0.5, 1.0}) {
        const std::size_t k = target_count(ratio, c.size());
        const auto selector = make_mstopk_selector(
            c.size(), {.ratio = {.ratio = ratio}, .rounds = rounds, .seed = 3});
        const Selection selection = testing::select(*selector, c, {.step = 7});
        ASSERT_EQ(positions_of(selection), plain_mstopk(c, k, rounds, 3, 7))
            << rounds << " " << ratio;
        for (std::size_t i = 0; i < selection.count; ++i) {
          ASSERT_EQ(selection.values[i], c[selection.positions[i]]);
        }
        ASSERT_LE(selection.count, selector->max_selected());
      }
    }
  });
}

TEST(MsTopK, ExactlyKOfAnything) {
  auto inputs = testing::with_non_finite();
  for (std::uint32_t bits : {0x7fffffffU, 0xffffffffU}) {  // the NaN that ranks above all others
    inputs.push_back({"nan", std::vector<float>(300, std::bit_cast<float>(bits))});
  }
  for (const auto& [name, c] : inputs) {
    SCOPED_TRACE(name);
    const auto selector = make_mstopk_selector(c.size(), {.ratio = {.ratio = 0.05}});
    EXPECT_EQ(testing::select(*selector, c).count, target_count(0.05, c.size()));
  }
}

/// The last threshold probed.
double plain_redsync(const std::vector<float>& c, std::size_t k, bool trim) {
  const Moments moments = magnitude_moments(c);
  const double m = moments.sum_magnitude / static_cast<double>(c.size());
  const auto greatest = static_cast<double>(moments.max_magnitude);
  double t = 0;
  if (trim) {
    for (int i = 0; i < 32; ++i) {
      t = m + (8.0 - 2.0 * i) / 10.0 * (greatest - m);
      if (positions_above(c, t).size() >= k) break;
    }
    return t;
  }
  double lo = 0;
  double hi = 1;
  while (hi - lo > 0.2) {
    const double q = (lo + hi) / 2;
    t = m + q * (greatest - m);
    const std::size_t z = positions_above(c, t).size();
    if (k < z && z < 2 * k) break;
    if (static_cast<double>(z) < static_cast<double>(k) / 2) {
      hi = q;
    } else {
      lo = q;
    }
  }
  return t;
}

TEST(RedSync, SameAsItsDescription) {
  testing::for_each_target_and_input(testing::part_inputs(), [](const std::vector<float>& c) {
    if (c.empty()) return;
    for (bool trim : {false, true}) {
      for (double ratio : {0.0001, 0.01, 0.1, 0.5, 1.0}) {
        const auto selector =
            make_redsync_selector(c.size(), {.ratio = {.ratio = ratio}, .trim = trim});
        const Selection selection = testing::select(*selector, c);
        const double threshold = plain_redsync(c, target_count(ratio, c.size()), trim);
        if (std::isnan(threshold)) continue;  // the sum of huge ones overflows
        ASSERT_EQ(selection.threshold, threshold) << trim << " " << ratio;
        ASSERT_EQ(positions_of(selection), positions_above(c, threshold));
      }
    }
  });
}

TEST(RedSync, TrimmingReachesTheTarget) {
  for (double ratio : {0.001, 0.01, 0.1, 0.6}) {
    const auto c = testing::heavy(65537, 3);
    const auto selector =
        make_redsync_selector(c.size(), {.ratio = {.ratio = ratio}, .trim = true});
    const Selection selection = testing::select(*selector, c);
    EXPECT_GE(selection.count, selection.target);
  }
}

TEST(RedSync, EmptyAndEqualTensorsSendNothing) {
  for (bool trim : {false, true}) {
    EXPECT_EQ(testing::select(*make_redsync_selector(0, {.trim = trim}), {}).count, 0U);
    const std::vector<float> zeros(100, 0.0F);
    EXPECT_EQ(testing::select(*make_redsync_selector(100, {.trim = trim}), zeros).count, 0U);
  }
}

/// The last threshold that was counted.
double plain_gaussiank(const std::vector<float>& c, double ratio, bool oktopk) {
  const Dispersion spread = signed_dispersion(c);
  const auto k = static_cast<double>(target_count(ratio, c.size()));
  double t = spread.mean() + std::fabs(normal_quantile(ratio / 2)) * std::sqrt(spread.variance());
  double last = t;
  for (int round = 0; round < (oktopk ? 20 : 3); ++round) {
    last = t;
    const auto z = static_cast<double>(positions_above(c, t).size());
    if (z < (oktopk ? k * 3 / 4 : k * 2 / 3)) {
      t = oktopk ? t / 1.02 : t * 0.5;
    } else if (z > (oktopk ? k * 5 / 4 : k * 4 / 3)) {
      t = oktopk ? t * 1.02 : t * 1.5;
    } else {
      break;
    }
  }
  return last;
}

TEST(GaussianK, SameAsItsDescription) {
  testing::for_each_target_and_input(testing::part_inputs(), [](const std::vector<float>& c) {
    if (c.empty()) return;
    for (bool oktopk : {false, true}) {
      for (double ratio : {0.0001, 0.01, 0.1, 0.5, 1.0}) {
        const auto selector =
            make_gaussiank_selector(c.size(), {.ratio = {.ratio = ratio}, .oktopk = oktopk});
        const Selection selection = testing::select(*selector, c);
        const double threshold = plain_gaussiank(c, ratio, oktopk);
        ASSERT_EQ(selection.threshold, threshold) << oktopk << " " << ratio;
        ASSERT_EQ(positions_of(selection), positions_above(c, threshold));
      }
    }
  });
}

TEST(GaussianK, FindsTheTargetOfANormalDistribution) {
  // Its own quantiles: no correction is needed.
  std::vector<float> c(20001);
  for (std::size_t i = 0; i < c.size(); ++i) {
    c[i] = static_cast<float>(normal_quantile((static_cast<double>(i) + 0.5) / 20001));
  }
  for (double ratio : {0.1, 0.01}) {
    const auto selector = make_gaussiank_selector(c.size(), {.ratio = {.ratio = ratio}});
    const Selection selection = testing::select(*selector, c);
    const double k = ratio * static_cast<double>(c.size());
    EXPECT_NEAR(static_cast<double>(selection.count), k, 0.02 * k);
  }
}

}  // namespace

}  // namespace thinpipe
