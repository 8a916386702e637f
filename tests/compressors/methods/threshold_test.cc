#include <gtest/gtest.h>

#include <functional>

#include "compressors/kernels/random.h"
#include "compressors/methods/selectors.h"
#include "tests/compressors/support/selection.h"

namespace thinpipe {
namespace {

using testing::make_selection;
using testing::positions_above;
using testing::positions_of;

TEST(Threshold, TakesWhatExceedsIt) {
  for (const auto& [name, c] : testing::selection_inputs()) {
    SCOPED_TRACE(name);
    for (double tau : {0.0, 0.01, 1.0, 3.0}) {
      const auto selector = make_threshold_selector(c.size(), tau);
      Selection selection = make_selection(c.size());
      selector->select(c, {}, selection);
      EXPECT_EQ(positions_of(selection), positions_above(c, tau));
      EXPECT_EQ(selection.threshold, tau);
      EXPECT_EQ(selection.target, 0U);
    }
  }
}

TEST(SampledThreshold, IsARankOfTheSample) {
  for (const auto& [name, c] : testing::selection_inputs()) {
    if (c.empty()) continue;
    SCOPED_TRACE(name);
    for (double ratio : {0.001, 0.1, 0.6}) {
      const auto selector = make_sampled_threshold_selector(
          c.size(), {.ratio = {.ratio = ratio}, .sample = 0.02, .seed = 5});
      Selection selection = make_selection(c.size());
      for (std::uint64_t step : {0UL, 3UL}) {
        SplitMix64 random(SplitMix64::mix(5 ^ SplitMix64::mix(step)));
        std::vector<float> sample(target_count(0.02, c.size()));
        for (float& value : sample) value = std::fabs(c[random.below(c.size())]);
        std::sort(sample.begin(), sample.end(), std::greater<>());
        const auto threshold =
            static_cast<double>(sample[target_count(0.02 * ratio, c.size()) - 1]);
        selector->select(c, {.step = step}, selection);
        EXPECT_EQ(selection.threshold, threshold);
        EXPECT_EQ(positions_of(selection), positions_above(c, threshold));
        EXPECT_EQ(selection.target, target_count(ratio, c.size()));
      }
    }
  }
}

}  // namespace
}  // namespace thinpipe
