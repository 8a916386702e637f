#include "harness/commands/trace_stats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

GradientStats stats_of(const std::string& tensor, std::uint64_t step,
                       const std::vector<float>& values) {
  std::vector<float> descending;
  GradientStats stats;
  stats.tensor = tensor;
  stats.training_step = step;
  stats.distribution = describe(values, descending);
  stats.decay = fit_decay(descending, StatsOptions().ratios);
  stats.fits = fit_distributions(stats.distribution, descending);
  return stats;
}

std::string tables_of(const std::vector<GradientStats>& gradients) {
  std::string text = stats_tables(gradients, {}, {});
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST(TraceStatsTables, SayWhichValuesTheyLeaveOut) {
  // Of 4 + 3 values one is NaN and one infinite, both in fc at step 20. The whole model has them
  // again, which must not count twice.
  const std::vector<GradientStats> gradients = {
      stats_of("conv", 10, {1, -2, 3, 0}), stats_of("fc", 20, {NAN, 2, -INFINITY}),
      stats_of(kWholeModel, 20, {1, -2, 3, 0, NAN, 2, -INFINITY})};
  EXPECT_THAT(tables_of(gradients), HasSubstr("2 of 7 values are NaN or infinite, first in fc at "
                                              "training step 20 of rank 0."));
}

TEST(TraceStatsTables, SayNothingOfFiniteValues) {
  EXPECT_THAT(tables_of({stats_of("conv", 10, {1, -2, 3, 0})}), Not(HasSubstr("NaN")));
}

}  // namespace
}  // namespace thinpipe
