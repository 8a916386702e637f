#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "compressors/kernels/random.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/selectors.h"
#include "tests/compressors/support/selection.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::make_selection;
using testing::positions_of;

/// Algorithm 1, round by round over all elements.
std::vector<std::uint32_t> plain_mstopk(const std::vector<float>& c, std::size_t k, int rounds,
                                        std::uint64_t seed, std::uint64_t step) {
  const Moments moments = magnitude_moments(c);
  const double mean = moments.sum_magnitude / static_cast<double>(c.size());
  const double range = std::max(0.0, static_cast<double>(moments.max_magnitude) - mean);
  const auto reach = [&](double threshold) {
    std::vector<std::uint32_t> positions;
    for (std::size_t i = 0; i < c.size(); ++i) {
      if (static_cast<double>(std::fabs(c[i])) >= threshold) {
        positions.push_back(static_cast<std::uint32_t>(i));
      }
    }
    return positions;
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
  testing::for_each_target([] {
    for (const auto& [name, c] : testing::selection_inputs()) {
      if (c.empty() || name.starts_with("huge")) continue;  // the sum of huge ones overflows
      SCOPED_TRACE(name);
      for (int rounds : {1, 4, 25}) {
        for (double ratio : {0.0001, 0.01, 0.1, 0.5, 1.0}) {
          const std::size_t k = target_count(ratio, c.size());
          const auto selector = make_mstopk_selector(
              c.size(), {.ratio = {.ratio = ratio}, .rounds = rounds, .seed = 3});
          Selection selection = make_selection(c.size());
          selector->select(c, {.step = 7}, selection);
          ASSERT_EQ(positions_of(selection), plain_mstopk(c, k, rounds, 3, 7))
              << rounds << " " << ratio;
          for (std::size_t i = 0; i < selection.count; ++i) {
            ASSERT_EQ(selection.values[i], c[selection.positions[i]]);
          }
          ASSERT_LE(selection.count, selector->max_selected());
        }
      }
    }
  });
}

TEST(MsTopK, ExactlyKOfAnything) {
  auto inputs = testing::non_finite_inputs();
  for (std::uint32_t bits : {0x7fffffffU, 0xffffffffU}) {  // the NaN that ranks above all others
    inputs.push_back({"nan", std::vector<float>(300, std::bit_cast<float>(bits))});
  }
  for (auto& input : testing::finite_inputs()) inputs.push_back(std::move(input));
  for (const auto& [name, c] : inputs) {
    SCOPED_TRACE(name);
    const auto selector = make_mstopk_selector(c.size(), {.ratio = {.ratio = 0.05}});
    Selection selection = make_selection(c.size());
    selector->select(c, {}, selection);
    EXPECT_EQ(selection.count, target_count(0.05, c.size()));
  }
}

}  // namespace
}  // namespace thinpipe
