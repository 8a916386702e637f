// When datagrams arrive: delay, and how it varies.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/kernel/measure.h"

namespace thinpipe {
namespace {

TrainOptions train_of(int count, double spacing) {
  return {.count = count, .spacing = spacing, .linger = 0.3};
}

TEST(Delay, IsWhatWasSet) {
  for (const double milliseconds : {0.5, 2.0, 20.0, 200.0}) {
    const std::string link = "delay=" + std::to_string(milliseconds) + "ms";
    const std::vector<double> delays = delays_of(train_over(link, train_of(100, 2e-3)));
    ASSERT_EQ(delays.size(), 100U) << link;
    const double wanted = milliseconds * 1e-3;
    note(link, median(delays) * 1e3, "ms");
    EXPECT_GE(quantile(delays, 0), wanted) << link;  // no frame is early
    EXPECT_NEAR(median(delays), wanted, std::max(1e-3, 0.05 * wanted)) << link;
  }
}

TEST(Delay, RoundTripTakesItTwice) {
  const auto sums = in_sandbox([] {
    Network network(2);
    network.set_links(parse_link_spec("delay=20ms"));
    const std::vector<double> there = delays_of(send_train(network, 0, 1, train_of(50, 2e-3)));
    const std::vector<double> back = delays_of(send_train(network, 1, 0, train_of(50, 2e-3)));
    return std::vector<double>{median(there) + median(back)};
  });
  note("there and back", sums[0] * 1e3, "ms");
  EXPECT_NEAR(sums[0], 40e-3, 2e-3);
}

// Without a distribution netem draws evenly from delay - jitter to delay +
// jitter, whose deviation is jitter / sqrt(3).
TEST(Jitter, IsUniformUnlessSaid) {
  constexpr double kDelay = 20e-3, kJitter = 10e-3, kLate = 1.5e-3;
  const auto delays = delays_of(train_over("delay=20ms,jitter=10ms", train_of(2000, 0.5e-3)));
  ASSERT_EQ(delays.size(), 2000U);
  note("deviation", deviation(delays) * 1e3, "ms");
  EXPECT_GE(quantile(delays, 0), kDelay - kJitter);
  EXPECT_LE(quantile(delays, 0.95), kDelay + 0.9 * kJitter + kLate);
  EXPECT_NEAR(median(delays), kDelay, 1e-3);
  EXPECT_LT(distance(delays,
                     [&](double delay) {
                       // Timers are late by a little: the test judges the shape, not the position.
                       const double late = median(delays) - kDelay;
                       return std::clamp((delay - late - kDelay + kJitter) / (2 * kJitter), 0., 1.);
                     }),
            distance_band(2000));
}

TEST(Jitter, NormalHasItsDeviation) {
  constexpr double kJitter = 10e-3;
  const auto delays =
      delays_of(train_over("delay=50ms,jitter=10ms,dist=normal", train_of(2000, 0.5e-3)));
  ASSERT_EQ(delays.size(), 2000U);
  note("deviation", deviation(delays) * 1e3, "ms");
  EXPECT_NEAR(median(delays), 50e-3, 1e-3 + kSigmas * 1.2533 * kJitter / std::sqrt(2000));
  EXPECT_NEAR(deviation(delays), kJitter, kSigmas * kJitter / std::sqrt(2 * 2000));
  const double middle = median(delays);
  EXPECT_LT(distance(delays,
                     [&](double delay) {
                       return 0.5 * std::erfc(-(delay - middle) / kJitter / std::sqrt(2));
                     }),
            distance_band(2000));
}

// A long tail upwards, and the requested deviation: tc's own table has only 0.82 of it.
TEST(Jitter, ParetoHasATail) {
  constexpr double kJitter = 5e-3;
  const auto delays =
      delays_of(train_over("delay=50ms,jitter=5ms,dist=pareto", train_of(2000, 0.5e-3)));
  ASSERT_EQ(delays.size(), 2000U);
  const double middle = median(delays);
  note("deviation", deviation(delays) * 1e3, "ms");
  note("99 % are less than the median and", (quantile(delays, 0.99) - middle) * 1e3, "ms");
  EXPECT_NEAR(mean(delays), 50e-3, 1e-3);
  EXPECT_LT(middle, mean(delays));
  EXPECT_GT(quantile(delays, 0.99) - middle, 2.5 * (middle - quantile(delays, 0.01)));
  EXPECT_NEAR(deviation(delays), kJitter,
              0.2 * kJitter);  // the tail makes it vary
}

// A later setting leaves nothing of the one before.
TEST(Delay, IsForgottenWhenTheLinkChanges) {
  const auto medians = in_sandbox([] {
    Network network(2);
    std::vector<double> found;
    for (const char* link : {"delay=20ms,jitter=5ms", "delay=5ms", "rate=50mbit"}) {
      network.set_links(parse_link_spec(link));
      const auto delays = delays_of(send_train(network, 0, 1, train_of(100, 2e-3)));
      found.insert(found.end(), {median(delays), quantile(delays, 0.75) - quantile(delays, 0.25)});
    }
    return found;
  });
  EXPECT_NEAR(medians[0], 20e-3, 2e-3);
  EXPECT_GT(medians[1], 1e-3);
  EXPECT_NEAR(medians[2], 5e-3, 1e-3);
  EXPECT_LT(medians[3], 0.5e-3);
  EXPECT_LT(medians[4], 1e-3);
}

}  // namespace
}  // namespace thinpipe
