#include "workloads/trace/stats/trace_stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/sample_trace.h"
#include "tests/trace/temporary_folder.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;

TEST(Similarity, PlacesCosineAndOverlap) {
  const std::vector<float> a = {1, -3, 3, NAN, 2, 3}, b = {-1, 3, -3, 1, -2, -3};
  EXPECT_THAT(top_k_places(a, 2), ElementsAre(1, 2)) << "equal ones by the lower place";
  EXPECT_THAT(top_k_places(a, 4), ElementsAre(1, 2, 4, 5));
  EXPECT_EQ(top_k_places(a, 99).size(), 6U);
  EXPECT_TRUE(top_k_places(a, 0).empty());
  const double dot = -1 - 9 - 9 - 4 - 9, aa = 1 + 9 + 9 + 4 + 9, bb = aa + 1;
  EXPECT_NEAR(cosine_of(a, b), dot / std::sqrt(aa * bb), 1e-15);
  EXPECT_EQ(overlap_of(std::vector<std::size_t>{1, 2, 5}, std::vector<std::size_t>{2, 5, 6}),
            2.0 / 3);
  EXPECT_TRUE(std::isnan(cosine_of(std::vector<float>{0}, std::vector<float>{1})));
}

TEST(TraceStats, FeedsTheErrorOfTopKBack) {
  const TemporaryFolder temporary;
  write_sample_trace(temporary / "trace", {.shapes = {{50, 4}, {30}}, .ranks = 3, .steps = 3});
  const Trace trace(temporary / "trace");
  StatsOptions options;
  options.parts = slice_parts(trace, {.ranks = {{1, 1}}});
  options.feedback_ratio = 0.1;
  options.curves = true;
  std::vector<GradientStats> gradients;
  std::vector<SimilarityStats> similarities;
  std::size_t elements = 0;
  compute_stats(trace, options,
                {[&](const GradientStats& stats) { gradients.push_back(stats); },
                 [&](const SimilarityStats& stats) { similarities.push_back(stats); },
                 [&](std::size_t more) { elements += more; }});
  // Three steps, two tensors and the whole, each with and without feedback.
  ASSERT_EQ(gradients.size(), 3U * 3 * 2);
  EXPECT_EQ(elements, 3U * 2 * 230);
  // Two pairs of ranks in three steps, and one rank over two pairs of steps, of three units.
  EXPECT_EQ(similarities.size(), 3U * (2 * 3 + 2));

  std::vector<double> residual(230);
  for (std::size_t step = 0; step < 3; ++step) {
    std::vector<double> plain;
    for (std::size_t tensor = 0; tensor < 2; ++tensor) {
      for (const float value : trace.gradient(1, step, tensor)) plain.push_back(value);
    }
    const auto norm = [](const std::vector<double>& values) {
      return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
    };
    for (std::size_t i = 0; i < plain.size(); ++i) residual[i] += plain[i];
    for (const GradientStats& stats : gradients) {
      if (stats.tensor != kWholeModel || stats.training_step != step) continue;
      EXPECT_NEAR(stats.distribution.l2, norm(stats.feedback ? residual : plain), 1e-7);
      EXPECT_EQ(stats.curves.x.size(), stats.curves.empirical.size());
    }
    std::vector<std::size_t> order(residual.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::fabs(residual[a]) > std::fabs(residual[b]);
    });
    for (std::size_t i = 0; i < 23; ++i) residual[order[i]] = 0;
  }
}

TEST(TraceStats, CurvesRise) {
  const TemporaryFolder temporary;
  write_sample_trace(temporary / "trace", {.shapes = {{3000}}, .ranks = 1, .steps = 1});
  const Trace trace(temporary / "trace");
  StatsOptions options;
  options.parts = slice_parts(trace, {});
  options.curves = true;
  compute_stats(trace, options,
                {[&](const GradientStats& stats) {
                   const StatsCurves& curves = stats.curves;
                   ASSERT_GT(curves.x.size(), 50U);
                   EXPECT_TRUE(std::is_sorted(curves.x.begin(), curves.x.end()));
                   EXPECT_TRUE(std::is_sorted(curves.empirical.begin(), curves.empirical.end()));
                   for (std::size_t i = 0; i < curves.x.size(); ++i) {
                     for (std::size_t f = 0; f < kFittedNames.size(); ++f) {
                       EXPECT_LE(std::fabs(curves.fitted[f][i] - curves.empirical[i]),
                                 stats.fits[f].distance + 1e-6);
                     }
                   }
                   EXPECT_TRUE(std::is_sorted(curves.errors.rbegin(), curves.errors.rend()));
                 },
                 [](const SimilarityStats&) {},
                 {}});
}

}  // namespace
}  // namespace thinpipe
