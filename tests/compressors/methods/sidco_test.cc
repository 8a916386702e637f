// SIDCo's fits, its stages, and its selection against the paper's algorithm in doubles.
#include "compressors/methods/sidco.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tests/compressors/support/gamma.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/parts.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::make_selection;
using testing::positions_of;

TEST(SidcoFit, ExponentialQuantile) {
  EXPECT_NEAR(exponential_excess(2, std::exp(-3.0)), 6, 1e-14);
  EXPECT_EQ(exponential_excess(2, 1), 0);
}

TEST(SidcoFit, ParetoQuantileOfItsOwnMoments) {
  // A generalised Pareto distribution with shape a and scale b has mean b / (1 - a) and variance
  // b^2 / ((1 - a)^2 (1 - 2a)).
  for (double a : {-0.4, 0.1, 0.3}) {
    for (double b : {0.01, 2.0}) {
      const double mean = b / (1 - a);
      const double variance = mean * mean / (1 - 2 * a);
      for (double delta : {0.25, 0.001}) {
        EXPECT_NEAR(pareto_excess(mean, variance, delta), b / a * (std::pow(delta, -a) - 1),
                    1e-12 * b / std::fabs(a) * std::pow(delta, -std::fabs(a)));
      }
    }
  }
}

TEST(SidcoFit, ParetoLimits) {
  // mean^2 = variance is exponential, on both sides of the switch to the limit.
  for (double off : {0.0, 1e-9, 1e-5}) {
    EXPECT_NEAR(pareto_excess(3, 9 * (1 + off), 0.01), 3 * std::log(100), 1e-3);
  }
  EXPECT_EQ(pareto_excess(3, 0, 0.01), 3);  // no spread: nothing exceeds the mean
  EXPECT_EQ(pareto_excess(0, 0, 0.01), 0);
}

TEST(SidcoFit, GammaOfShapeOneIsExponential) {
  // The logarithm of an exponential variable has mean ln(scale) - 0.5772...; the shape's closed
  // form is off by 0.6 % there.
  constexpr double kEuler = 0.57721566490153286;
  for (double delta : {0.25, 0.01}) {
    EXPECT_NEAR(gamma_excess(2, std::log(2) - kEuler, delta, true), 2 * -std::log(delta),
                0.02 * 2 * -std::log(delta));
    EXPECT_NEAR(gamma_excess(2, std::log(2) - kEuler, delta, false), 2 * -std::log(delta),
                0.02 * 2 * -std::log(delta));
  }
}

TEST(SidcoFit, GammaOfASmallShape) {
  // A gamma variable with shape 1/2 and scale 2 is the square of a normal variable. P(x > 6.6349) =
  // 0.01; its mean is 1, its mean logarithm ln 2 + digamma(1/2) = -1.2703628. The closed form for
  // the shape gives 0.5 within 2 %.
  EXPECT_NEAR(gamma_excess(1, -1.2703628, 0.01, true), 6.6349, 0.1);
}

TEST(SidcoFit, ShapesAndScalesOfTheirOwnMoments) {
  const auto pareto = fit_pareto(2 / (1 - 0.3), 4 / (0.7 * 0.7 * 0.4));  // shape 0.3, scale 2
  EXPECT_NEAR(pareto.shape, 0.3, 1e-14);
  EXPECT_NEAR(pareto.scale, 2, 1e-14);
  EXPECT_TRUE(std::isnan(fit_pareto(1, 0).shape));
  const auto gamma = fit_gamma(1, -1.2703628);  // shape 1/2, scale 2
  EXPECT_NEAR(gamma.shape, 0.5, 0.01);
  EXPECT_EQ(gamma.scale, 1 / gamma.shape);
  EXPECT_TRUE(std::isnan(fit_gamma(1, 0.5).shape));
}

TEST(SidcoFit, GammaWithoutAFitIsExponential) {
  const double expected = exponential_excess(0.1, 0.01);
  EXPECT_EQ(gamma_excess(0.1, std::log(0.1) + 1, 0.01, false), expected);  // many zeros: s < 0
  EXPECT_EQ(gamma_excess(0.1, std::numeric_limits<double>::quiet_NaN(), 0.01, false), expected);
  EXPECT_EQ(gamma_excess(0, std::numeric_limits<double>::quiet_NaN(), 0.01, true), 0);
}

constexpr int kMax = 4;
constexpr SidcoRule kRules[] = {SidcoRule::kPaper, SidcoRule::kClimb, SidcoRule::kPublished2,
                                SidcoRule::kPublished3};

TEST(SidcoStages, PaperRuleMovesEveryQthTime) {
  SidcoStages stages({.every = 3, .tolerance = 0.2});
  std::vector<int> seen;
  for (int i = 0; i < 9; ++i) {
    seen.push_back(stages.stages(kMax));
    stages.note(50, 100, kMax);  // too few: one more stage
  }
  EXPECT_EQ(seen, (std::vector<int>{1, 1, 1, 2, 2, 2, 3, 3, 3}));
  for (int i = 0; i < 3; ++i) stages.note(150, 100, kMax);  // 4 by now; too many: one fewer
  EXPECT_EQ(stages.stages(kMax), 3);
  for (int i = 0; i < 3; ++i) stages.note(i == 0 ? 160 : 80, 100, kMax);  // mean 106.7: in the band
  EXPECT_EQ(stages.stages(kMax), 3);
}

TEST(SidcoStages, StaysBetweenOneAndTheMost) {
  SidcoStages stages({.every = 1, .tolerance = 0.2});
  for (int i = 0; i < 10; ++i) stages.note(1000, 100, kMax);
  EXPECT_EQ(stages.stages(kMax), 1);
  for (int i = 0; i < 10; ++i) stages.note(1, 100, kMax);
  EXPECT_EQ(stages.stages(kMax), kMax);
  EXPECT_EQ(stages.stages(2), 2);  // a warm-up's greater ratio allows fewer
}

TEST(SidcoStages, BandIsInclusive) {
  SidcoStages stages({.every = 1, .tolerance = 0.25});
  stages.note(75, 100, kMax);  // exactly k (1 - eps): not fewer
  EXPECT_EQ(stages.stages(kMax), 1);
  stages.note(74, 100, kMax);
  EXPECT_EQ(stages.stages(kMax), 2);
  stages.note(125, 100, kMax);
  EXPECT_EQ(stages.stages(kMax), 2);
}

TEST(SidcoStages, ClimbingFindsTheFitWhereMoreStagesSelectFewer) {
  // Selected elements of a heavy-tailed gradient: 1350 with 1 stage, 400 with 2 stages, 130 with 3
  // and 105 with 4, for a target of 100.
  const std::vector<std::size_t> counts = {1350, 400, 130, 105};
  SidcoStages climb({.every = 1, .tolerance = 0.2, .rule = SidcoRule::kClimb});
  SidcoStages paper({.every = 1, .tolerance = 0.2});
  for (int i = 0; i < 12; ++i) {
    for (SidcoStages* stages : {&climb, &paper}) {
      stages->note(counts[static_cast<std::size_t>(stages->stages(kMax)) - 1], 100, kMax);
    }
  }
  EXPECT_EQ(climb.stages(kMax), 4);
  EXPECT_EQ(paper.stages(kMax), 1);
}

TEST(SidcoStages, ClimbingFollowsThePaperWhereThatIsRight) {
  // With light tails, 1 stage selects 20 elements, 2 stages 60 and 3 stages 95, for a target of
  // 100. The first direction that is tried is the right one.
  const std::vector<std::size_t> counts = {20, 60, 95, 140};
  SidcoStages climb({.every = 1, .tolerance = 0.2, .rule = SidcoRule::kClimb});
  for (int i = 0; i < 6; ++i) {
    climb.note(counts[static_cast<std::size_t>(climb.stages(kMax)) - 1], 100, kMax);
  }
  EXPECT_EQ(climb.stages(kMax), 3);
}

TEST(SidcoStages, AResidualReleasedAtOnceIsNoReasonToTurnRound) {
  // One and two stages send nothing; the third sends first the accumulated residual, then the right
  // number.
  SidcoStages climb({.every = 1, .tolerance = 0.2, .rule = SidcoRule::kClimb});
  for (int i = 0; i < 2; ++i) climb.note(1, 100, kMax);
  EXPECT_EQ(climb.stages(kMax), 3);
  climb.note(400, 100, kMax);  // |400 - 100| is more than |1 - 100|, but past k
  EXPECT_EQ(climb.stages(kMax), 2);
  climb.note(1, 100, kMax);
  EXPECT_EQ(climb.stages(kMax), 3);
  for (int i = 0; i < 10; ++i) climb.note(100, 100, kMax);
  EXPECT_EQ(climb.stages(kMax), 3);
}

TEST(SidcoStages, AReversedDirectionMustProveItself) {
  // One stage selects slightly too many elements, and more stages select even more. The paper's
  // rule moves in the right direction, to fewer stages, but one stage is the lower bound.
  SidcoStages climb({.every = 1, .tolerance = 0.2, .rule = SidcoRule::kClimb});
  std::vector<int> seen;
  for (int i = 0; i < 15; ++i) {
    seen.push_back(climb.stages(kMax));
    climb.note(seen.back() == 1 ? 125 : 140, 100, kMax);
  }
  // The fourth time at the bound another stage is tried, and given up at once.
  EXPECT_EQ(seen, (std::vector<int>{1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2}));
}

TEST(SidcoStages, SmallChangesDoNotTurnTheDirection) {
  SidcoStages climb({.every = 1, .tolerance = 0.2, .rule = SidcoRule::kClimb});
  climb.note(50, 100, kMax);
  climb.note(41, 100, kMax);  // a little worse: less than eps / 2
  EXPECT_EQ(climb.stages(kMax), 3);
  climb.note(30, 100, kMax);  // worse
  EXPECT_EQ(climb.stages(kMax), 2);
}

// Modes -1, -2 and -3 of SIDCo's published code, in its own variables (github.com/sands-lab/SIDCo
// at 197f3c3, compression.py, adapt_stages). Its limits of the estimate are 0.8 and 1.2.
struct PublishedStages {
  int mode, stages = 1, update = 1;
  double last = 0;

  void adapt(double estimate) {
    const bool known = last > 0;
    const bool worse = std::fabs(estimate - 1) > std::fabs(last - 1);
    const bool nearer = (estimate > last && last < 0.8) || (estimate < last && last > 1.2);
    if (known && ((mode == -2 && worse) || (mode == -3 && !nearer))) update = -update;
    if (estimate > 1.2) stages -= update;
    if (estimate < 0.8) stages += update;
    stages = std::clamp(stages, 1, kMax);
    last = estimate;
  }
};

TEST(SidcoStages, PublishedRulesAreThoseOfTheirCode) {
  std::mt19937 random(31);
  // Counts on either side of the limits and within them, but none at a limit.
  std::uniform_int_distribution<std::size_t> near(60, 140);
  for (const auto& [rule, mode] :
       {std::pair(SidcoRule::kPaper, -1), std::pair(SidcoRule::kPublished2, -2),
        std::pair(SidcoRule::kPublished3, -3)}) {
    SidcoStages stages({.every = 1, .tolerance = 0.2, .rule = rule});
    PublishedStages published{.mode = mode};
    for (int i = 0; i < 2000; ++i) {
      const std::size_t drawn = i % 7 == 0 ? 0 : near(random);
      const std::size_t count = drawn == 80 || drawn == 120 ? 100 : drawn;
      stages.note(count, 100, kMax);
      published.adapt(static_cast<double>(count) / 100);
      ASSERT_EQ(stages.stages(kMax), published.stages) << "mode " << mode << ", step " << i;
    }
  }
}

TEST(SidcoStages, OneStageIsOneStage) {
  for (const SidcoRule rule : kRules) {
    SidcoStages stages({.every = 1, .tolerance = 0.2, .rule = rule});
    for (int i = 0; i < 20; ++i) stages.note(i % 3 == 0 ? 1000 : 1, 100, 1);
    EXPECT_EQ(stages.stages(1), 1);
  }
}

TEST(SidcoStages, StateRoundTrips) {
  SidcoStages stages({.every = 4, .tolerance = 0.2, .rule = SidcoRule::kClimb});
  for (int i = 0; i < 6; ++i) stages.note(10, 100, kMax);
  std::vector<std::byte> state(SidcoStages::kStateSize);
  ByteWriter out(state);
  stages.save(out);
  EXPECT_EQ(out.size(), state.size());
  SidcoStages copy({.every = 4, .tolerance = 0.2, .rule = SidcoRule::kClimb});
  ByteReader in(state);
  copy.load(in);
  for (int i = 0; i < 10; ++i) {
    const auto count = static_cast<std::size_t>(50 * i);
    stages.note(count, 100, kMax);
    copy.note(count, 100, kMax);
    EXPECT_EQ(copy.stages(kMax), stages.stages(kMax));
  }
}

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
      threshold = options.exact_gamma ? scale * testing::gamma_exceeded(shape, share)
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
  for (const auto& [name, c] : testing::part_inputs()) {
    if (c.size() < 2 || name.starts_with("huge")) continue;
    SCOPED_TRACE(name);
    for (const SidcoOptions& option : options) {
      // Equal magnitudes have no gamma distribution: s is 0 up to rounding.
      const bool gamma = option.distribution == Distribution::kGamma;
      if (gamma && name.starts_with("equal")) continue;
      // A tail of one value has no variance but that of rounding.
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
        const Selection selection = testing::select(*make_sidco_selector(c.size(), option), c);
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

TEST(Sidco, AnEarlierThresholdChangesNoChoice) {
  for (std::size_t n : {100UL, 32768UL, 70001UL}) {
    const SidcoOptions options{.ratio = {.ratio = 0.01}, .fixed_stages = 3};
    testing::for_each_target([&] {
      const auto used = make_sidco_selector(n, options);
      // A threshold lower than expected takes a further pass, as the first step does.
      for (const auto& [scale, passes] :
           {std::pair{1.0F, 3}, std::pair{1.01F, 2}, std::pair{0.99F, 2}, std::pair{3.0F, 2},
            std::pair{0.1F, 3}, std::pair{0.0F, 3}, std::pair{1.0F, 2}}) {
        SCOPED_TRACE(scale);
        auto c = testing::bell(n, 1);
        for (float& value : c) value *= scale;
        const Selection found = testing::select(*used, c);
        const Selection expected = testing::select(*make_sidco_selector(n, options), c);
        EXPECT_EQ(found.threshold, expected.threshold);
        EXPECT_EQ(positions_of(found), positions_of(expected));
        EXPECT_EQ(found.passes, passes);
      }
    });
  }
}

TEST(Sidco, FindsTheTargetOnExponentialMagnitudes) {
  // Quantiles of the exponential distribution: |c_i| = -ln((i + 1/2) / d). One stage is right by
  // construction: a fraction delta exceeds mean * ln(1 / delta).
  std::vector<float> c(100000);
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(c.size());
    c[i] = static_cast<float>(i % 2 == 0 ? -std::log(share) : std::log(share));
  }
  for (double ratio : {0.1, 0.01, 0.001}) {
    const auto selector =
        make_sidco_selector(c.size(), {.ratio = {.ratio = ratio}, .fixed_stages = 1});
    const double k = ratio * static_cast<double>(c.size());
    EXPECT_NEAR(static_cast<double>(testing::select(*selector, c).count), k, 0.01 * k + 1) << ratio;
  }
}

TEST(Sidco, EmptyAndZeroTensorsSendNothing) {
  EXPECT_EQ(testing::select(*make_sidco_selector(0, {}), {}).count, 0U);
  const std::vector<float> zeros(10, 0.0F);
  const Selection selection = testing::select(*make_sidco_selector(10, {.fixed_stages = 3}), zeros);
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
    options.rule = SidcoRule::kClimb;
    EXPECT_NEAR(share_after_adaptation(c, options), 1, 0.2) << a;
  }
}

TEST(Sidco, ClimbingIsNoWorseThanThePapersRule) {
  const auto c = testing::heavy(100000, 3);
  for (Distribution distribution :
       {Distribution::kExponential, Distribution::kGamma, Distribution::kPareto}) {
    SidcoOptions options{.ratio = {.ratio = 0.001}, .distribution = distribution};
    const double paper = share_after_adaptation(c, options);
    options.rule = SidcoRule::kClimb;
    EXPECT_LE(std::fabs(share_after_adaptation(c, options) - 1), std::fabs(paper - 1) + 0.2);
  }
}

}  // namespace
}  // namespace thinpipe
