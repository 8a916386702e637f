#include <gtest/gtest.h>

#include "compressors/kernels/random.h"
#include "compressors/methods/selectors.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/parts.h"

namespace thinpipe {
namespace {

using testing::positions_of;
using testing::sum_at;

TEST(Sbc, TakesTheSideWithTheGreaterMean) {
  for (const auto& [name, c] : testing::finite_inputs()) {
    SCOPED_TRACE(name);
    for (double p : {0.001, 0.01, 0.3}) {
      const std::size_t k = target_count(p, c.size());
      const auto selector = make_sbc_selector(c.size(), {.ratio = {.ratio = p}});
      const Selection selection = testing::select(*selector, c);
      EXPECT_EQ(positions_of(selection), testing::plain_sbc(c, k));
      EXPECT_EQ(selection.count, k);
      EXPECT_EQ(selector->max_selected(), k);
    }
  }
}

TEST(Sbc, SampledThresholds) {
  for (const auto& [name, c] : testing::part_inputs()) {
    if (c.empty()) continue;
    SCOPED_TRACE(name);
    for (double p : {0.01, 0.3}) {
      const auto selector =
          make_sbc_selector(c.size(), {.ratio = {.ratio = p}, .sample = 0.1, .seed = 3});
      const Selection selection = testing::select(*selector, c, {.step = 4});
      SplitMix64 random(SplitMix64::mix(3 ^ SplitMix64::mix(4)));
      std::vector<float> sample(target_count(0.1, c.size()));
      for (float& value : sample) value = c[random.below(c.size())];
      std::sort(sample.begin(), sample.end());
      const std::size_t rank = target_count(0.1 * p, c.size());
      const float high = sample[sample.size() - rank];
      const float low = sample[rank - 1];
      const auto largest = testing::positions_where(c, [&](float value) { return value > high; });
      const auto smallest = testing::positions_where(c, [&](float value) { return value < low; });
      double plus = sum_at(c, largest);
      double minus = -sum_at(c, smallest);
      if (!largest.empty()) plus /= static_cast<double>(largest.size());
      if (!smallest.empty()) minus /= static_cast<double>(smallest.size());
      EXPECT_EQ(positions_of(selection), plus >= minus ? largest : smallest);
      EXPECT_EQ(selection.target, target_count(p, c.size()));
    }
  }
}

TEST(Sbc, SmallExample) {
  // k = 2 of 8. Largest: 3 and 2, mean 2.5; smallest: -4 and -1.5, mean -2.75.
  const std::vector<float> c = {0, 3, -1.5, 1, 2, -4, 0.5, -1};
  const auto selector = make_sbc_selector(c.size(), {.ratio = {.ratio = 0.25}});
  const Selection selection = testing::select(*selector, c);
  EXPECT_EQ(positions_of(selection), (std::vector<std::uint32_t>{2, 5}));
  EXPECT_EQ(selection.threshold, 1.5);
}

}  // namespace
}  // namespace thinpipe
