// Statistics of a trace, and distributions fitted to its gradients.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "tests/base/support.h"
#include "tests/trace/sample_trace.h"
#include "workloads/trace/draws.h"
#include "workloads/trace/stats/trace_stats.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;

TEST(Similarity, PlacesCosineAndOverlap) {
  const std::vector<float> a = {1, -3, 3, NAN, 2, 3}, b = {-1, 3, -3, 1, -2, -3};
  EXPECT_THAT(top_k_places(a, 2), ElementsAre(1, 2)) << "equal ones by the lower position";
  EXPECT_THAT(top_k_places(a, 4), ElementsAre(1, 2, 4, 5));
  EXPECT_EQ(top_k_places(a, 99).size(), 6U);
  EXPECT_TRUE(top_k_places(a, 0).empty());
  const double dot = -1 - 9 - 9 - 4 - 9, aa = 1 + 9 + 9 + 4 + 9, bb = aa + 1;
  EXPECT_NEAR(cosine_of(a, b), dot / std::sqrt(aa * bb), 1e-15);
  EXPECT_EQ(overlap_of(std::vector<std::size_t>{1, 2, 5}, std::vector<std::size_t>{2, 5, 6}),
            2.0 / 3);
  EXPECT_TRUE(std::isnan(cosine_of(std::vector<float>{0}, std::vector<float>{1})));
}

TEST(TraceStats, BucketingsTheErrorOfTopKBack) {
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
  // Each of three units has the similarities of two pairs of ranks in three steps, and of one rank
  // over two pairs of steps.
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

TEST(Describe, MomentsAndQuantilesOfASmallSample) {
  const std::vector<float> values = {1, -2, 0, 5, NAN, INFINITY};
  std::vector<float> descending;
  const GradientDistribution d = describe(values, descending);
  EXPECT_THAT(descending, ElementsAre(5, 2, 1, 0));
  EXPECT_EQ(d.elements, 4U);
  EXPECT_EQ(d.zeros, 1U);
  EXPECT_EQ(d.non_finite, 2U);
  EXPECT_EQ(d.mean, 1);
  // Distances from the mean are 0, -3, -1, 4. Their squares are 0, 9, 1, 16; their cubes -27, -1,
  // 64; their fourth powers 81, 1, 256.
  EXPECT_DOUBLE_EQ(d.deviation, std::sqrt(26.0 / 4));
  EXPECT_DOUBLE_EQ(d.skewness, (36.0 / 4) / std::pow(6.5, 1.5));
  EXPECT_DOUBLE_EQ(d.excess_kurtosis, (338.0 / 4) / (6.5 * 6.5) - 3);
  EXPECT_DOUBLE_EQ(d.l2, std::sqrt(30.0));
  EXPECT_EQ(d.mean_magnitude, 2);
  EXPECT_DOUBLE_EQ(d.magnitude_variance, (1 + 0 + 4 + 9) / 4.0);
  EXPECT_DOUBLE_EQ(d.mean_log, (std::log(2) + std::log(5)) / 3);
  // At most a fraction of 0.5 of 4 elements: two of them, 0 and 1.
  EXPECT_THAT(d.quantiles, ElementsAre(0, 0, 1, 5, 5, 5, 5));
}

TEST(Describe, NothingButNoCrash) {
  std::vector<float> descending;
  EXPECT_EQ(describe({}, descending).elements, 0U);
  EXPECT_TRUE(std::isnan(fit_decay(descending, std::vector{0.1}).p));
  const std::vector<float> zeros(5, 0.0F);
  const GradientDistribution d = describe(zeros, descending);
  for (const FittedDistribution& fit : fit_distributions(d, descending)) {
    EXPECT_TRUE(std::isnan(fit.distance));
  }
  EXPECT_TRUE(std::isnan(fit_decay(descending, std::vector{0.1}).p));
}

TEST(PowerDecayTest, FindsTheExponentOfAPowerLaw) {
  std::vector<float> descending;
  for (int j = 1; j <= 5000; ++j) descending.push_back(static_cast<float>(3 * std::pow(j, -0.8)));
  const std::vector<double> ratios = {0.1, 0.00001};
  const PowerDecay decay = fit_decay(descending, ratios);
  EXPECT_NEAR(decay.p, 0.8, 1e-6);
  EXPECT_NEAR(decay.constant, 3, 1e-5);
  EXPECT_NEAR(decay.fit, 1, 1e-9);
  EXPECT_EQ(decay.last, 1850U) << "0.37 of them";
  double tail = 0, all = 0, but_one = 0;
  for (std::size_t j = 0; j < descending.size(); ++j) {
    const double square = double(descending[j]) * double(descending[j]);
    all += square;
    if (j >= 500) tail += square;
    if (j >= 1) but_one += square;
  }
  EXPECT_NEAR(decay.best_k_error[0], std::sqrt(tail / all), 1e-12);
  EXPECT_NEAR(decay.best_k_error[1], std::sqrt(but_one / all), 1e-12) << "k is at least 1";
}

TEST(PowerDecayTest, PlacesAreAscendingAndWithin) {
  for (const std::size_t elements : {1UL, 2UL, 10UL, 269'722UL}) {
    const auto places = decay_places(elements);
    ASSERT_FALSE(places.empty());
    EXPECT_EQ(places.front(), 1U);
    EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
    EXPECT_LE(places.back(), elements);
  }
  EXPECT_EQ(decay_places(269'722).back(), 99'798U) << "SIDCo's fig. 7a ends at 10^5";
}

/// Magnitudes drawn by the inverse of a distribution function, the largest first.
std::vector<float> drawn(std::size_t count, const std::function<double(double)>& inverse) {
  Draws draws(3);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(inverse(draws.uniform()));
  return values;
}

/// By the definition, at every element.
double plain_distance(const std::vector<float>& descending,
                      const std::function<double(double)>& below) {
  const auto n = static_cast<double>(descending.size());
  double most = 0;
  for (const float x : descending) {
    const auto at_most = std::count_if(descending.begin(), descending.end(),
                                       [&](float other) { return other <= x; });
    const auto under =
        std::count_if(descending.begin(), descending.end(), [&](float other) { return other < x; });
    most = std::max({most, std::fabs(below(x) - static_cast<double>(at_most) / n),
                     std::fabs(below(x) - static_cast<double>(under) / n)});
  }
  return most;
}

TEST(KolmogorovDistance, IsThatOfTheDefinition) {
  const auto exponential = [](double x) { return -std::expm1(-x); };
  for (const int levels : {0, 3, 40}) {  // few levels make many ties
    auto values = drawn(1500, [&](double u) {
      const double x = -std::log(u);
      return levels == 0 ? x : std::floor(x * levels) / levels;
    });
    std::sort(values.begin(), values.end(), std::greater<>());
    std::size_t asked = 0;
    const auto counted = [&](double x) {
      ++asked;
      return exponential(x);
    };
    EXPECT_DOUBLE_EQ(kolmogorov_distance(values, counted), plain_distance(values, exponential));
    EXPECT_LT(asked, 1000U);
  }
}

std::array<FittedDistribution, 4> all_fits(const std::vector<float>& values) {
  std::vector<float> descending;
  const GradientDistribution moments = describe(values, descending);
  return fit_distributions(moments, descending);
}

TEST(Fits, EachIsNearestToItsOwnDistribution) {
  constexpr std::size_t kCount = 20'000;
  Draws draws(9);
  // A gamma variable of shape 1/2 and scale 2 is the square of a normal one; generalised Pareto by
  // its inverse, shape 0.2 and scale 1.
  const std::map<FittedKind, std::vector<float>> samples = {
      {FittedKind::kExponential, drawn(kCount, [](double u) { return -3 * std::log(u); })},
      {FittedKind::kGamma, drawn(kCount, [&](double) { return std::pow(draws.normal(), 2); })},
      {FittedKind::kPareto, drawn(kCount, [](double u) { return (std::pow(u, -0.2) - 1) / 0.2; })},
      {FittedKind::kNormal, drawn(kCount, [&](double) { return 2 + draws.normal(); })}};
  for (const auto& [kind, values] : samples) {
    const auto fits = all_fits(values);
    const double own = fits[static_cast<std::size_t>(kind)].distance;
    // With a good fit sup |F - F_n| is about 0.9 / sqrt(n); the closed form of gamma is 1.5 % off.
    EXPECT_LT(own, kind == FittedKind::kGamma ? 0.03 : 0.015) << int(kind);
    if (kind == FittedKind::kExponential) {  // the other two contain it
      EXPECT_GT(fits[3].distance, 0.1);
      continue;
    }
    for (const FittedDistribution& other : fits) {
      if (other.kind != kind) {
        EXPECT_GT(other.distance, 1.5 * own) << int(kind) << int(other.kind);
      }
    }
  }
  const auto& exponential = samples.at(FittedKind::kExponential);
  const auto fits = all_fits(exponential);
  EXPECT_NEAR(fits[0].scale, 3, 0.1);
  EXPECT_NEAR(fits[1].shape, 1, 0.05);
  EXPECT_NEAR(fits[2].shape, 0, 0.05);
}

}  // namespace

}  // namespace thinpipe
