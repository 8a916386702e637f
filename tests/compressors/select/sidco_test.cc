#include "compressors/select/sidco.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/selection.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::make_selection;
using testing::positions_of;

/// SIDCo eqs. 6, 10 and 11 in doubles, every stage over all elements.
double plain_threshold(const std::vector<float>& c, double ratio, double first, int stages) {
  if (ratio >= first) stages = 1;
  double threshold = 0;
  for (int stage = 1; stage <= stages; ++stage) {
    double sum = 0;
    double count = 0;
    for (float value : c) {
      const double magnitude = std::fabs(static_cast<double>(value));
      if (stage > 1 && magnitude <= threshold) continue;
      sum += magnitude;
      count += 1;
    }
    if (count == 0) break;
    const double share = stages == 1  ? ratio
                         : stage == 1 ? first
                                      : std::pow(ratio / first, 1.0 / (stages - 1));
    const double location = stage == 1 ? 0 : threshold;
    threshold = (sum / count - location) * std::log(1 / share) + location;
  }
  return threshold;
}

TEST(Sidco, ThresholdIsTheFormulasInDouble) {
  testing::for_each_target([] {
    for (const auto& [name, c] : testing::finite_inputs()) {
      if (c.size() < 2 || name.starts_with("huge")) continue;
      SCOPED_TRACE(name);
      for (int stages : {1, 2, 4}) {
        for (double ratio : {0.5, 0.01, 0.001}) {
          const auto selector = make_sidco_exp_selector(
              c.size(), {.ratio = {.ratio = ratio}, .fixed_stages = stages});
          Selection selection = make_selection(c.size());
          selector->select(c, {}, selection);
          const double expected = plain_threshold(c, ratio, 0.25, stages);
          // The mean of the first stage is summed in floats, emptied into doubles.
          EXPECT_NEAR(selection.threshold, expected, 2e-6 * expected) << stages << " " << ratio;
          std::vector<std::uint32_t> above;
          for (std::size_t i = 0; i < c.size(); ++i) {
            if (static_cast<double>(std::fabs(c[i])) > selection.threshold) {
              above.push_back(static_cast<std::uint32_t>(i));
            }
          }
          EXPECT_EQ(positions_of(selection), above);
          EXPECT_EQ(selection.passes, 2);
        }
      }
    }
  });
}

TEST(Sidco, FindsTheTargetOnExponentialMagnitudes) {
  // Quantiles of the exponential distribution: |c_i| = -ln((i + 1/2) / d). One stage is right by
  // construction: a share delta exceeds mean * ln(1 / delta).
  std::vector<float> c(100000);
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(c.size());
    c[i] = static_cast<float>(i % 2 == 0 ? -std::log(share) : std::log(share));
  }
  Selection selection = make_selection(c.size());
  for (double ratio : {0.1, 0.01, 0.001}) {
    const auto selector =
        make_sidco_exp_selector(c.size(), {.ratio = {.ratio = ratio}, .fixed_stages = 1});
    selector->select(c, {}, selection);
    const double k = ratio * static_cast<double>(c.size());
    EXPECT_NEAR(static_cast<double>(selection.count), k, 0.01 * k + 1) << ratio;
  }
}

TEST(Sidco, EmptyAndZeroTensorsSendNothing) {
  Selection selection = make_selection(10);
  const auto empty = make_sidco_exp_selector(0, {});
  empty->select({}, {}, selection);
  EXPECT_EQ(selection.count, 0U);
  const auto selector = make_sidco_exp_selector(10, {.fixed_stages = 3});
  const std::vector<float> zeros(10, 0.0F);
  selector->select(zeros, {}, selection);
  EXPECT_EQ(selection.count, 0U);
  EXPECT_EQ(selection.threshold, 0);
}

TEST(Sidco, AdaptationBringsTheCountIntoTheBand) {
  // Heavy tails: one stage selects too many. The paper's rule cannot leave one stage; climbing
  // finds the number of stages that fits.
  const auto c = testing::heavy(100000, 3);
  const auto count_after = [&](bool climb) {
    const auto selector = make_sidco_exp_selector(
        c.size(), {.ratio = {.ratio = 0.001}, .climb = climb, .tolerance = 0.3, .every = 2});
    Selection selection = make_selection(c.size());
    for (int step = 0; step < 100; ++step) selector->select(c, {}, selection);
    return static_cast<double>(selection.count);
  };
  EXPECT_GT(count_after(false), 1.3 * 100);
  EXPECT_LT(count_after(true), count_after(false));
}

}  // namespace
}  // namespace thinpipe
