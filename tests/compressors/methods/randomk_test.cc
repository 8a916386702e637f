#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "compressors/methods/selectors.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/parts.h"

namespace thinpipe {
namespace {

using testing::positions_of;

/// Draws the positions into a std::set, and draws again if a position was drawn before. If fewer
/// positions are omitted than sent, draws the omitted ones instead.
std::vector<std::uint32_t> plain_positions(std::uint64_t seed, std::uint32_t tag, std::size_t k,
                                           std::size_t d) {
  SplitMix64 random(SplitMix64::mix(seed ^ SplitMix64::mix(tag)));
  const bool others = k > d / 2;
  std::set<std::uint64_t> drawn;
  while (drawn.size() < (others ? d - k : k)) drawn.insert(random.below(d));
  std::vector<std::uint32_t> positions;
  for (std::size_t i = 0; i < d; ++i) {
    if ((drawn.count(i) != 0) != others) positions.push_back(static_cast<std::uint32_t>(i));
  }
  return positions;
}

TEST(RandomK, DrawsDistinctPositions) {
  for (std::size_t d : {1UL, 2UL, 4UL, 63UL, 64UL, 65UL, 71UL, 65535UL, 65537UL}) {
    const auto c = testing::heavy(d, 1);
    for (double ratio : {0.0001, 0.1, 0.5, 0.51, 0.9, 1.0}) {
      const auto drawn = std::make_shared<SeededPositions>(d, 9);
      const auto selector = make_random_k_selector(d, {.ratio = ratio}, false, drawn);
      for (std::uint64_t step : {0UL, 1UL, 77UL, (5UL << 32) + 3}) {
        const Selection selection = testing::select(*selector, c, {.step = step});
        const std::size_t k = target_count(ratio, d);
        ASSERT_EQ(positions_of(selection),
                  plain_positions(9, static_cast<std::uint32_t>(step), k, d));
        ASSERT_EQ(selection.count, k);
        for (std::size_t i = 0; i < k; ++i) {
          ASSERT_EQ(selection.values[i], c[selection.positions[i]]);
        }
      }
    }
  }
}

TEST(RandomK, ReceiversDrawWhatTheSenderDrew) {
  // Another worker decodes payloads of any steps in any order, and encodes in between.
  const auto gradient = testing::heavy(1003, 1);
  const std::string spec = "randomk:ratio=0.1,memory=none";
  const auto sender = testing::make_of_shape(spec, {1003}, {.seed = 4, .rank = 0});
  const auto receiver = testing::make_of_shape(spec, {1003}, {.seed = 4, .rank = 1});
  std::vector<std::vector<std::byte>> payloads;
  for (std::uint64_t step = 0; step < 6; ++step) {
    payloads.push_back(testing::encode(*sender, gradient, step).payload);
    // A count of 2 bytes would do for positions alone: varint, values, tag.
    EXPECT_EQ(payloads.back().size(), 1U + 101 * sizeof(float) + sizeof(std::uint32_t));
  }
  for (std::size_t step : {3UL, 0UL, 5UL, 5UL, 1UL, 4UL, 2UL}) {
    const auto own = testing::encode(*receiver, gradient, step).payload;
    EXPECT_EQ(own, payloads[step]);  // the same positions on every rank: payloads may be summed
    testing::encode(*receiver, gradient, 100 + step);
    const auto decoded = testing::decode(*receiver, payloads[step]);
    std::size_t sent = 0;
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      sent += decoded[i] != 0 ? 1 : 0;
      EXPECT_TRUE(decoded[i] == 0 || decoded[i] == gradient[i]);
    }
    EXPECT_EQ(sent, 101U);
  }
  const auto other = testing::make_of_shape(spec, {1003}, {.seed = 4}, "v");
  EXPECT_NE(testing::encode(*other, gradient, 0).payload, payloads[0]);
}

TEST(RandomK, UnbiasedWithinFiveStandardErrors) {
  constexpr std::size_t kElements = 60;
  constexpr int kDraws = 20000;
  const auto gradient = testing::bell(kElements, 2);
  for (const char* ratio : {"0.1", "0.7"}) {
    const auto compressor =
        testing::make(std::string("randomk:scale=true,memory=none,ratio=") + ratio, kElements);
    std::vector<double> mean(kElements, 0.0);
    for (std::uint64_t step = 0; step < kDraws; ++step) {
      const auto decoded = testing::sent_values(*compressor, gradient, step);
      for (std::size_t i = 0; i < kElements; ++i) mean[i] += double{decoded[i]} / kDraws;
    }
    // An element is g d/k with probability k/d, else 0: variance g^2 (d/k - 1).
    const double spread = std::sqrt((1 / std::stod(ratio) - 1) / kDraws);
    for (std::size_t i = 0; i < kElements; ++i) {
      EXPECT_NEAR(mean[i], double{gradient[i]}, 5 * spread * std::fabs(double{gradient[i]})) << i;
    }
  }
}

TEST(RandomK, RefusesWhatCannotWork) {
  EXPECT_THROW(testing::make("randomk:scale=true", 10), InputError);
  EXPECT_NO_THROW(testing::make("randomk:scale=true,memory=none", 10));
  // exp4 does not send small values, so receivers could not know which positions are meant.
  EXPECT_THROW(testing::make("randomk:values=exp4", 10), InputError);
  EXPECT_NO_THROW(testing::make("randomk:values=exp4,positions=raw32", 10));
}

}  // namespace
}  // namespace thinpipe
