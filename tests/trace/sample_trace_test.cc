#include <cmath>

#include <gtest/gtest.h>

#include "tests/trace/sample_trace.h"
#include "tests/trace/temporary_folder.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

TEST(SampleTrace, IsReproducible) {
  const TemporaryFolder temporary;
  write_sample_trace(temporary / "a", {.seed = 9});
  write_sample_trace(temporary / "b", {.seed = 9});
  write_sample_trace(temporary / "c", {.seed = 10});
  EXPECT_EQ(Trace(temporary / "a").identity(), Trace(temporary / "b").identity());
  EXPECT_NE(Trace(temporary / "a").identity(), Trace(temporary / "c").identity());
}

TEST(SampleTrace, DrawsALaplaceDistribution) {
  const TemporaryFolder temporary;
  constexpr double kScale = 0.5;
  write_sample_trace(temporary / "t",
                     {.shapes = {{200'000}}, .ranks = 1, .steps = 1, .scale = kScale});
  const Trace trace(temporary / "t");
  double sum = 0;
  double absolute = 0;
  double square = 0;
  const auto values = trace.gradient(0, 0, 0);
  for (const double value : values) {
    sum += value;
    absolute += std::fabs(value);
    square += value * value;
  }
  const auto count = static_cast<double>(values.size());
  // Laplace(0, b): mean 0, mean |x| = b, mean x^2 = 2 b^2. The bands are five standard errors:
  // sqrt(2) b, b and sqrt(24 - 4) b^2 over sqrt(200000).
  EXPECT_NEAR(sum / count, 0, 5 * std::sqrt(2 / count) * kScale);
  EXPECT_NEAR(absolute / count, kScale, 5 * kScale / std::sqrt(count));
  EXPECT_NEAR(square / count, 2 * kScale * kScale, 5 * std::sqrt(20 / count) * kScale * kScale);
}

TEST(SampleTrace, TimesAddUpAndRunBackwards) {
  const TemporaryFolder temporary;
  write_sample_trace(temporary / "t", {.shapes = {{2}, {2}, {2}, {2}}, .compute_seconds = 0.6});
  const Trace trace(temporary / "t");
  const TraceStepTimes& times = trace.times(0, 0);
  EXPECT_DOUBLE_EQ(times.compute(), 0.6);
  // Backward takes 0.4 s for four tensors: 0.1 s each, the last tensor first.
  EXPECT_DOUBLE_EQ(times.ready[3], 0.1);
  EXPECT_DOUBLE_EQ(times.ready[0], 0.4);
  EXPECT_EQ(trace.tensors()[3].ready_order, 0U);
  EXPECT_EQ(trace.metadata()["origin"], "synthetic");
}

}  // namespace
}  // namespace thinpipe
