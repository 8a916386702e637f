// Selection above a limit: one that DGC samples, and one that the user sets.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compressors/kernels/random.h"
#include "compressors/methods/selectors.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/parts.h"

namespace thinpipe {
namespace {

using testing::plain_top_k;
using testing::positions_above;
using testing::positions_of;

struct PlainDgc {
  std::vector<std::uint32_t> positions;
  int passes = 0;
};

/// The method's description, by sorting.
PlainDgc plain_dgc(const std::vector<float>& c, const DgcOptions& options, std::uint64_t step) {
  const std::size_t d = c.size();
  const std::size_t n = target_count(options.sample, d);
  const std::size_t k = target_count(options.ratio.ratio, d);
  SplitMix64 random(SplitMix64::mix(options.seed ^ SplitMix64::mix(step)));
  std::vector<float> sample;
  std::size_t line = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (options.sampling == Sampling::kLines && d >= 16 && i % 16 == 0) {
      line = 16 * random.below(d / 16);
    }
    std::size_t at = 0;
    if (options.sampling == Sampling::kStrided) {
      at = (2 * i + 1) * d / (2 * n);
    } else if (options.sampling == Sampling::kLines && d >= 16) {
      at = line + i % 16;
    } else {
      at = random.below(d);
    }
    sample.push_back(std::fabs(c[at]));
  }
  std::sort(sample.begin(), sample.end(), std::greater<>());
  const auto top = static_cast<std::size_t>(
      std::ceil(options.sample * options.ratio.ratio * static_cast<double>(d) * (1 - 1e-12)));
  auto threshold = static_cast<double>(sample[std::max<std::size_t>(top, 1) - 1]);
  PlainDgc plain;
  for (int lowered = 0;; ++lowered) {
    plain.positions = positions_above(c, threshold);
    ++plain.passes;
    if (static_cast<double>(plain.positions.size()) >= 0.8 * static_cast<double>(k)) break;
    if (lowered == 10 || threshold == 0) break;
    threshold *= 0.8;
  }
  if (static_cast<double>(plain.positions.size()) > 1.3 * static_cast<double>(k)) {
    plain.positions = plain_top_k(c, KeyOrder::kMagnitude, k, plain.positions);
  }
  return plain;
}

TEST(Dgc, SameAsItsDescription) {
  for (const auto& [name, c] : testing::finite_inputs()) {
    if (c.empty()) continue;
    SCOPED_TRACE(name);
    for (Sampling sampling : {Sampling::kUniform, Sampling::kStrided, Sampling::kLines}) {
      for (double ratio : {0.001, 0.03, 0.5}) {
        const DgcOptions options{
            .ratio = {.ratio = ratio}, .sample = 0.02, .sampling = sampling, .seed = 7};
        const auto selector = make_dgc_selector(c.size(), options);
        for (std::uint64_t step : {0UL, 1UL, 12UL}) {
          const Selection selection = testing::select(*selector, c, {.step = step});
          const PlainDgc plain = plain_dgc(c, options, step);
          ASSERT_EQ(positions_of(selection), plain.positions);
          EXPECT_EQ(selection.passes, plain.passes);
          EXPECT_LE(selection.count, selector->max_selected());
          EXPECT_EQ(selection.target, target_count(ratio, c.size()));
        }
      }
    }
  }
}

TEST(Dgc, CountStaysNearTheTarget) {
  const auto c = testing::heavy(200000, 1);
  for (Sampling sampling : {Sampling::kUniform, Sampling::kStrided, Sampling::kLines}) {
    const auto selector =
        make_dgc_selector(c.size(), {.ratio = {.ratio = 0.01}, .sampling = sampling});
    for (std::uint64_t step = 0; step < 20; ++step) {
      const std::size_t count = testing::select(*selector, c, {.step = step}).count;
      EXPECT_GE(count, 1600U);  // 0.8 k, k = 2000
      EXPECT_LE(count, 2600U);  // 1.3 k
    }
  }
}

TEST(Dgc, WarmsUp) {
  const auto c = testing::heavy(10000, 1);
  const auto selector =
      make_dgc_selector(c.size(), {.ratio = {.ratio = 0.001, .warmup = {0.25, 0.0625}}});
  const std::pair<double, std::size_t> targets[] = {{0.5, 2500}, {1.5, 625}, {2, 10}, {9, 10}};
  for (const auto& [epoch, target] : targets) {
    EXPECT_EQ(testing::select(*selector, c, {.epoch = epoch}).target, target);
  }
  EXPECT_EQ(selector->max_selected(), 3250U);  // 1.3 * 2500
}

TEST(Threshold, TakesWhatExceedsIt) {
  for (const auto& [name, c] : testing::part_inputs()) {
    SCOPED_TRACE(name);
    for (double tau : {0.0, 0.01, 1.0, 3.0}) {
      const Selection selection = testing::select(*make_threshold_selector(c.size(), tau), c);
      EXPECT_EQ(positions_of(selection), positions_above(c, tau));
      EXPECT_EQ(selection.threshold, tau);
      EXPECT_EQ(selection.target, 0U);
    }
  }
}

TEST(SampledThreshold, IsARankOfTheSample) {
  for (const auto& [name, c] : testing::part_inputs()) {
    if (c.empty()) continue;
    SCOPED_TRACE(name);
    for (double ratio : {0.001, 0.1, 0.6}) {
      const auto selector = make_sampled_threshold_selector(
          c.size(), {.ratio = {.ratio = ratio}, .sample = 0.02, .seed = 5});
      for (std::uint64_t step : {0UL, 3UL}) {
        SplitMix64 random(SplitMix64::mix(5 ^ SplitMix64::mix(step)));
        std::vector<float> sample(target_count(0.02, c.size()));
        for (float& value : sample) value = std::fabs(c[random.below(c.size())]);
        std::sort(sample.begin(), sample.end(), std::greater<>());
        const auto threshold =
            static_cast<double>(sample[target_count(0.02 * ratio, c.size()) - 1]);
        const Selection selection = testing::select(*selector, c, {.step = step});
        EXPECT_EQ(selection.threshold, threshold);
        EXPECT_EQ(positions_of(selection), positions_above(c, threshold));
        EXPECT_EQ(selection.target, target_count(ratio, c.size()));
      }
    }
  }
}

}  // namespace

}  // namespace thinpipe
