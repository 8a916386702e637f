// Fates of datagrams: lost singly or in bursts, doubled, damaged, out of order.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tests/kernel/measure.h"

namespace thinpipe {
namespace {

TrainOptions fast_train(int count, int bytes = 64, bool checksum = true) {
  return {.count = count, .spacing = 0, .bytes = bytes, .checksum = checksum};
}

TEST(Loss, IsWithinItsBinomialBand) {
  constexpr int kCount = 5000;
  for (const double percent : {0.5, 5.0, 30.0}) {
    const std::string link = "loss=" + std::to_string(percent) + "%";
    const auto arrivals = fates_over(link, fast_train(kCount));
    const double lost = kCount - static_cast<double>(arrivals.size());
    note(link, 100 * lost / kCount, "%");
    EXPECT_NEAR(lost, kCount * percent / 100, binomial_band(kCount, percent / 100)) << link;
  }
}

TEST(Loss, AllAndNothing) {
  EXPECT_EQ(fates_over("loss=0%,delay=1ms", fast_train(2000)).size(), 2000U);
}

// A two-state chain that starts to lose with p and stops with r loses p / (p + r), in bursts of
// 1 / r. Successive frames are correlated by 1 - p - r, which widens the band of the mean.
TEST(Loss, GilbertElliottHasItsMeanAndItsBursts) {
  constexpr int kCount = 10000;
  constexpr double kStart = 0.05, kStop = 0.5;
  const auto arrivals = fates_over("loss=ge:5%/50%", fast_train(kCount));
  std::vector<bool> lost(kCount, true);
  for (const Arrival& one : arrivals) lost[one.number] = false;
  double losses = 0, bursts = 0;
  for (std::size_t i = 0; i < lost.size(); ++i) {
    losses += lost[i] ? 1 : 0;
    bursts += lost[i] && (i == 0 || !lost[i - 1]) ? 1 : 0;
  }
  const double expected = kStart / (kStart + kStop), memory = 1 - kStart - kStop;
  note("mean loss", 100 * losses / kCount, "%");
  note("burst length", losses / bursts, "frames");
  EXPECT_NEAR(losses, kCount * expected,
              binomial_band(kCount, expected) * std::sqrt((1 + memory) / (1 - memory)));
  // Lengths are geometric: mean 1 / r, variance (1 - r) / r^2.
  EXPECT_NEAR(losses / bursts, 1 / kStop, kSigmas * std::sqrt((1 - kStop) / bursts) / kStop);
}

// If netem is set to 20 % with a correlation of 25 %, it loses only 10.2 %. So a greater
// probability is requested (netem/link/qdisc.h). Losses are then clustered.
TEST(Loss, CorrelatedIsWhatWasAskedForToo) {
  constexpr int kCount = 10000;
  constexpr double kAsked = 0.2, kCorrelation = 0.25;
  const auto arrivals = fates_over("loss=20%/25%", fast_train(kCount));
  std::vector<double> lost(kCount, 1);
  for (const Arrival& one : arrivals) lost[one.number] = 0;
  note("lost", 100 * mean(lost), "%");
  note("correlation of losses", autocorrelation(lost), "");
  // Losses are correlated less than the draws are.
  EXPECT_NEAR(
      mean(lost), kAsked,
      binomial_band(kCount, kAsked) / kCount * std::sqrt((1 + kCorrelation) / (1 - kCorrelation)));
  EXPECT_GT(autocorrelation(lost), kSigmas / std::sqrt(kCount));
  EXPECT_LT(autocorrelation(lost), kCorrelation + kSigmas / std::sqrt(kCount));
}

TEST(Duplicate, IsWithinItsBinomialBand) {
  constexpr int kCount = 5000;
  const auto arrivals = fates_over("duplicate=5%", fast_train(kCount));
  std::set<std::uint32_t> numbers;
  for (const Arrival& one : arrivals) numbers.insert(one.number);
  EXPECT_EQ(numbers.size(),
            static_cast<std::size_t>(kCount));  // nothing is lost by it
  const auto twice = static_cast<double>(arrivals.size() - numbers.size());
  note("twice", 100 * twice / kCount, "%");
  EXPECT_NEAR(twice, kCount * 0.05, binomial_band(kCount, 0.05));
}

// One bit of the frame is flipped. If the bit is in the headers (42 of 1042 bytes), the datagram is
// usually lost.
TEST(Corrupt, FlipsABitInSome) {
  constexpr int kCount = 5000;
  const auto arrivals = fates_over("corrupt=10%", fast_train(kCount, 1000, false));
  double intact = 0;
  for (const Arrival& one : arrivals) intact += one.intact ? 1 : 0;
  const double damaged = static_cast<double>(arrivals.size()) - intact;
  note("intact", 100 * intact / kCount, "%");
  note("damaged", 100 * damaged / kCount, "%");
  EXPECT_NEAR(intact, kCount * 0.9, binomial_band(kCount, 0.9) + 0.003 * kCount);
  EXPECT_NEAR(damaged, kCount * 0.1 * 1000 / 1042, binomial_band(kCount, 0.1));
}

TEST(Corrupt, IsLossToWhoeverChecksSums) {
  constexpr int kCount = 5000;
  const auto arrivals = fates_over("corrupt=10%", fast_train(kCount, 1000));
  for (const Arrival& one : arrivals) ASSERT_TRUE(one.intact);
  note("intact", 100 * static_cast<double>(arrivals.size()) / kCount, "%");
  EXPECT_NEAR(static_cast<double>(arrivals.size()), kCount * 0.9,
              binomial_band(kCount, 0.9) + 0.003 * kCount);
}

// Reordered frames skip the delay and so overtake those before them.
TEST(Reorder, SomeSkipTheDelay) {
  constexpr int kCount = 2000;
  const auto arrivals = train_over("delay=20ms,reorder=25%", {.count = kCount});
  ASSERT_EQ(arrivals.size(), static_cast<std::size_t>(kCount));
  double early = 0, overtaking = 0;
  std::uint32_t expected = 0;  // the least number that has not arrived
  std::set<std::uint32_t> arrived;
  for (const Arrival& one : arrivals) {
    early += one.delay() < 10e-3 ? 1 : 0;
    overtaking += one.number > expected ? 1 : 0;
    arrived.insert(one.number);
    while (arrived.contains(expected)) ++expected;
  }
  note("early", 100 * early / kCount, "%");
  note("overtaking", 100 * overtaking / kCount, "%");
  EXPECT_NEAR(early, kCount * 0.25, binomial_band(kCount, 0.25));
  EXPECT_GT(overtaking, 0.9 * early);
}

TEST(Reorder, OnlyEveryGapThFrameWhereAGapIsSet) {
  const auto arrivals = train_over("delay=20ms,reorder=100%,gap=5", {.count = 500});
  ASSERT_EQ(arrivals.size(), 500U);
  double early = 0;
  for (const Arrival& one : arrivals) early += one.delay() < 10e-3 ? 1 : 0;
  EXPECT_NEAR(early, 100, 1);
}

// Attributes that a change leaves out keep their values in the kernel, so all are sent.
TEST(Impairments, AreGoneWhenTheLinkChanges) {
  const auto counts = counts_in_sandbox([] {
    Network network(2);
    std::vector<double> found;
    for (const char* link :
         {"delay=2ms,jitter=1ms,loss=20%/10%,duplicate=20%/10%,corrupt=20%/10%,reorder=20%/10%",
          "delay=2ms,loss=ge:10%/20%/90%/1%", "delay=2ms"}) {
      network.set_links(parse_link_spec(link));
      const auto arrivals = send_train(network, 0, 1, fast_train(1000));
      double intact = 0, in_order = 0;
      for (std::size_t i = 0; i < arrivals.size(); ++i) {
        intact += arrivals[i].intact ? 1 : 0;
        in_order += arrivals[i].number == i ? 1 : 0;
      }
      found.insert(found.end(), {static_cast<double>(arrivals.size()), intact, in_order});
    }
    return found;
  });
  EXPECT_LT(counts[2], 900);  // the first link did disturb
  EXPECT_LT(counts[3], 900);
  EXPECT_EQ(counts[6], 1000);
  EXPECT_EQ(counts[7], 1000);
  EXPECT_EQ(counts[8], 1000);
}

}  // namespace
}  // namespace thinpipe
