// SIDCo's stage adaptation on gradients of a training run.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/compressors/support/captured.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

/// Mean k-hat / k over 60 compressions after 120 for the adaptation, of the last layer's weights.
double share_after_adaptation(const std::string& spec) {
  static const Trace trace = testing::captured_trace();
  std::size_t tensor = 0;
  while (trace.tensors()[tensor].name != "ip2.weight") ++tensor;
  const auto compressor = testing::make(spec, trace.tensors()[tensor].elements);
  double sum = 0;
  for (std::uint64_t step = 0; step < 180; ++step) {
    const auto gradient = trace.gradient(0, step % trace.steps(), tensor);
    const auto report = testing::encode(*compressor, gradient, step).report;
    if (step < 120) continue;
    sum += static_cast<double>(report.selected_elements) /
           static_cast<double>(report.target_elements) / 60;
  }
  return sum;
}

// Without a memory: the recorded steps come again and again, and a residual of a few gradients that
// repeat for ever is like nothing that training has.
std::string sidco(const char* adapt, const char* dist, const char* ratio) {
  return std::string("sidco:memory=none,adapt=") + adapt + ",dist=" + dist + ",ratio=" + ratio;
}

TEST(Captured, StageAdaptationBringsTheCountIntoTheBand) {
  for (const char* ratio : {"0.1", "0.01"}) {
    for (const char* dist : {"exp", "gpareto"}) {
      EXPECT_NEAR(share_after_adaptation(sidco("climb", dist, ratio)), 1, 0.2) << dist << ratio;
    }
  }
  EXPECT_NEAR(share_after_adaptation(sidco("climb", "gamma", "0.01")), 1, 0.2);
  // The best number of stages, two, selects 0.805 k on average, so that single means of Q leave the
  // band again; three and four select 0.78 k and 0.77 k.
  EXPECT_NEAR(share_after_adaptation(sidco("climb", "gamma", "0.1")), 1, 0.25);
}

TEST(Captured, ThePapersRuleStaysAboveTheBandWhereTailsAreHeavy) {
  // One stage selects too many; the rule wants fewer stages still, and there are none.
  EXPECT_NEAR(share_after_adaptation(sidco("paper", "exp", "0.01")), 3.2, 0.1);
  EXPECT_NEAR(share_after_adaptation(sidco("paper", "exp", "0.1")), 1.28, 0.05);
  EXPECT_NEAR(share_after_adaptation(sidco("paper", "gpareto", "0.1")), 1.26, 0.05);
  // Where one stage fits or selects too few, it gets there.
  EXPECT_NEAR(share_after_adaptation(sidco("paper", "gpareto", "0.01")), 1, 0.2);
  EXPECT_NEAR(share_after_adaptation(sidco("paper", "gamma", "0.01")), 1, 0.2);
}

}  // namespace
}  // namespace thinpipe
