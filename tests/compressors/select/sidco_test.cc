#include "compressors/select/sidco.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compressors/select/distributions.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/selection.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::make_selection;
using testing::positions_of;

using Distribution = SidcoDistribution;

double pareto(double mean, double variance, double share) {
  if (variance == 0) return mean;  // the limit
  const double ratio = mean * mean / variance;
  const double a = 0.5 * (1 - ratio);
  const double b = 0.5 * mean * (ratio + 1);
  if (std::fabs(a) < 1e-6) return b * std::log(1 / share);
  return b / a * (std::exp(-a * std::log(share)) - 1);
}

/// SIDCo algorithm 1 in doubles, every stage over all elements.
double plain_threshold(const std::vector<float>& c, const SidcoOptions& options) {
  const double ratio = options.ratio.ratio;
  const double first = options.first_ratio;
  const int stages = ratio >= first ? 1 : options.fixed_stages;
  double threshold = 0;
  for (int stage = 1; stage <= stages; ++stage) {
    std::vector<double> tail;
    for (float value : c) {
      const double magnitude = std::fabs(static_cast<double>(value));
      if (stage == 1 || magnitude > threshold) tail.push_back(magnitude);
    }
    if (tail.empty()) break;
    double location = stage == 1 ? 0 : threshold;
    if (stage > 1 && options.location_min) location = *std::min_element(tail.begin(), tail.end());
    double mean = 0;
    double logs = 0;
    double nonzero = 0;
    for (double a : tail) {
      mean += (a - location) / static_cast<double>(tail.size());
      if (a != 0) logs += std::log(a);
      if (a != 0) ++nonzero;
    }
    double variance = 0;
    for (double a : tail) {
      variance += std::pow(a - location - mean, 2) / static_cast<double>(tail.size());
    }
    const double share = stages == 1  ? ratio
                         : stage == 1 ? first
                                      : std::pow(ratio / first, 1.0 / (stages - 1));
    if (options.distribution == Distribution::kExponential) {
      threshold = mean * std::log(1 / share) + location;
    } else if (options.distribution == Distribution::kPareto || stage > 1) {
      threshold = pareto(mean, variance, share) + location;
    } else {
      const double s = std::log(mean) - logs / nonzero;
      const double shape = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
      const double scale = mean / shape;
      threshold = options.exact_gamma ? scale * gamma_exceeded(shape, share)
                                      : -scale * (std::log(share) + std::lgamma(shape));
      if (!(s > 0)) threshold = mean * std::log(1 / share);
    }
  }
  return threshold;
}

/// Every combination of the options that change a threshold.
std::vector<SidcoOptions> all_options() {
  std::vector<SidcoOptions> all;
  for (int stages : {1, 2, 4}) {
    for (double ratio : {0.5, 0.01, 0.001}) {
      for (bool location_min : {false, true}) {
        for (Distribution distribution :
             {Distribution::kExponential, Distribution::kGamma, Distribution::kPareto}) {
          for (bool exact : {false, true}) {
            if (exact && distribution != Distribution::kGamma) continue;
            all.push_back({.ratio = {.ratio = ratio},
                           .distribution = distribution,
                           .exact_gamma = exact,
                           .location_min = location_min,
                           .fixed_stages = stages});
          }
        }
      }
    }
  }
  return all;
}

TEST(Sidco, ThresholdIsTheFormulasInDouble) {
  const auto options = all_options();
  for (const auto& [name, c] : testing::selection_inputs()) {
    if (c.size() < 2 || name.starts_with("huge")) continue;
    SCOPED_TRACE(name);
    for (const SidcoOptions& option : options) {
      // Equal magnitudes have no gamma distribution: s is 0 up to rounding.
      const bool gamma = option.distribution == Distribution::kGamma;
      if (gamma && name.starts_with("equal")) continue;
      // A tail of one value has no variance but what rounding makes of it.
      if (option.distribution != Distribution::kExponential && option.fixed_stages > 1 &&
          (name.starts_with("ties") || name.starts_with("denormals"))) {
        continue;
      }
      const double expected = plain_threshold(c, option);
      // Moments and compaction; exponential stages add a pass over the first tail.
      const bool tail_pass = option.fixed_stages > 1 && !option.location_min &&
                             option.distribution == Distribution::kExponential &&
                             option.ratio.ratio < option.first_ratio;
      testing::for_each_target([&] {
        const auto selector = make_sidco_selector(c.size(), option);
        Selection selection = make_selection(c.size());
        selector->select(c, {}, selection);
        // The mean of the first stage is summed in floats, emptied into doubles.
        EXPECT_NEAR(selection.threshold, expected, (gamma ? 1e-5 : 2e-6) * std::fabs(expected))
            << option.fixed_stages << " " << option.ratio.ratio << " "
            << static_cast<int>(option.distribution) << option.exact_gamma << option.location_min;
        EXPECT_EQ(positions_of(selection), testing::positions_above(c, selection.threshold));
        EXPECT_EQ(selection.passes, tail_pass ? 3 : 2);
      });
    }
  }
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
        make_sidco_selector(c.size(), {.ratio = {.ratio = ratio}, .fixed_stages = 1});
    selector->select(c, {}, selection);
    const double k = ratio * static_cast<double>(c.size());
    EXPECT_NEAR(static_cast<double>(selection.count), k, 0.01 * k + 1) << ratio;
  }
}

TEST(Sidco, EmptyAndZeroTensorsSendNothing) {
  Selection selection = make_selection(10);
  const auto empty = make_sidco_selector(0, {});
  empty->select({}, {}, selection);
  EXPECT_EQ(selection.count, 0U);
  const auto selector = make_sidco_selector(10, {.fixed_stages = 3});
  const std::vector<float> zeros(10, 0.0F);
  selector->select(zeros, {}, selection);
  EXPECT_EQ(selection.count, 0U);
  EXPECT_EQ(selection.threshold, 0);
}

/// Quantiles of the generalised Pareto distribution: (u^-a - 1) / a, with either sign.
std::vector<float> pareto_quantiles(std::size_t n, double a) {
  std::vector<float> c(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
    c[i] = static_cast<float>((std::pow(share, -a) - 1) / a * (i % 2 == 0 ? 1 : -1));
  }
  return c;
}

/// Mean k-hat / k of 20 compressions after 100 for the adaptation.
double share_after_adaptation(const std::vector<float>& c, const SidcoOptions& options) {
  const auto selector = make_sidco_selector(c.size(), options);
  Selection selection = make_selection(c.size());
  double sum = 0;
  for (int step = 0; step < 120; ++step) {
    selector->select(c, {}, selection);
    if (step < 100) continue;
    sum += static_cast<double>(selection.count) / static_cast<double>(selection.target) / 20;
  }
  return sum;
}

TEST(Sidco, ParetoFitsItsOwnDistribution) {
  const auto c = pareto_quantiles(200000, 0.1);
  for (double ratio : {0.1, 0.01, 0.001}) {
    EXPECT_NEAR(share_after_adaptation(
                    c, {.ratio = {.ratio = ratio}, .distribution = Distribution::kPareto}),
                1, 0.1)
        << ratio;
  }
}

TEST(Sidco, AdaptationBringsTheCountIntoTheBand) {
  // Tails heavier than exponential: one exponential stage selects too many. The paper's rule cannot
  // go below one stage; climbing finds the number of stages that fits.
  for (double a : {0.1, 0.2}) {
    const auto c = pareto_quantiles(200000, a);
    SidcoOptions options{.ratio = {.ratio = 0.001}};
    EXPECT_GT(share_after_adaptation(c, options), 1.2) << a;
    options.climb = true;
    EXPECT_NEAR(share_after_adaptation(c, options), 1, 0.2) << a;
  }
}

TEST(Sidco, ClimbingIsNoWorseThanThePapersRule) {
  const auto c = testing::heavy(100000, 3);
  for (Distribution distribution :
       {Distribution::kExponential, Distribution::kGamma, Distribution::kPareto}) {
    SidcoOptions options{.ratio = {.ratio = 0.001}, .distribution = distribution};
    const double paper = share_after_adaptation(c, options);
    options.climb = true;
    EXPECT_LE(std::fabs(share_after_adaptation(c, options) - 1), std::fabs(paper - 1) + 0.2);
  }
}

}  // namespace
}  // namespace thinpipe
