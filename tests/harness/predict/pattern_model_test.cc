#include "harness/predict/pattern_model.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

constexpr LinkFigures kTen = {.alpha = 1e-3, .beta = 1e-8, .credit = 100e3};

double seconds(const char* pattern, Exchange exchange, double bytes, int ranks) {
  ExchangeTimes times;
  return exchange_cost(parse_spec(pattern), {exchange, {bytes}}, {.ranks = ranks, .link = kTen},
                       times)
      ->seconds;
}

// Eight ranks, 4 MB: what the busiest port carries, and at most every step's message besides.
void expect_link_time(double seconds, double steps, double bytes) {
  const double busy = (bytes - 100e3) * 1e-8;
  EXPECT_GE(seconds, busy + 1e-3 - 1e-9);
  EXPECT_LE(seconds, busy + steps * (1e-3 + 32768 * 1e-8) + 1e-9);
}

// Each sends the array in each of 3 steps.
TEST(PatternModel, RecursiveDoublingSendsTheArrayInEveryStep) {
  expect_link_time(seconds("recursive-doubling", Exchange::kAllReduce, 4e6, 8), 3, 12e6);
}

// 3 steps of halves, and 3 back: 7/8 of the array each way.
TEST(PatternModel, HalvingAndDoublingSendsAsLittleAsARing) {
  expect_link_time(seconds("halving-doubling", Exchange::kAllReduce, 4e6, 8), 6, 7e6);
}

// The root has 3 children, each of which sends it the array and gets it back; 3 levels each way.
TEST(PatternModel, OfATreeTheRootDecides) {
  expect_link_time(seconds("tree", Exchange::kAllReduce, 4e6, 8), 12, 12e6);
}

// Seven messages with their lengths come to every rank, in three steps.
TEST(PatternModel, GatheringByDoubling) {
  expect_link_time(seconds("recursive-doubling", Exchange::kAllGather, 1e6, 8), 3, 7e6);
}

// Messages of a segment: a tree of two ranks passes it on when it has come as a whole.
TEST(PatternModel, CountsHowAPipelineFills) {
  EXPECT_NEAR(seconds("tree", Exchange::kAllReduce, 32768, 2), 2e-3, 1e-9);
  ExchangeTimes times;
  const LinkFigures idle = {.alpha = 1e-3, .beta = 1e-6, .credit = 0};
  EXPECT_NEAR(exchange_cost(parse_spec("tree"), {Exchange::kAllReduce, {32768}},
                            {.ranks = 2, .link = idle}, times)
                  ->seconds,
              2 * (1e-3 + 32768e-6), 1e-9);
}

// More ranks than messages are followed for: steps and bytes.
TEST(PatternModel, OfAThousandRanksStepsAndBytesCount) {
  EXPECT_NEAR(seconds("halving-doubling", Exchange::kAllReduce, 4e6 * 1.024, 1024),
              20e-3 + (2 * 1023 / 1024.0 * 4.096e6 - 100e3) * 1e-8, 1e-4);
}

// 1000 workers push 4992 bytes and their heads of each of 8 units, half to each of two servers.
TEST(PatternModel, OfManyWorkersTheServersLinksDecide) {
  ProfiledExchange exchange{.exchange = Exchange::kPushPull, .bytes = {8 * 4992.0}};
  exchange.units.assign(8, {.elements = 1, .push = 4992, .pull = 992});
  ExchangeTimes times;
  const auto cost = [&](const ExchangeAmong& among) {
    return exchange_cost(parse_spec("ps:servers=2"), exchange, among, times)->seconds;
  };
  EXPECT_NEAR(cost({.ranks = 1000, .link = kTen}), 2e-3 + (4 * 5e6 - 100e3) * 1e-8, 1e-9);
  // Few of them are followed message by message; it comes to much the same.
  EXPECT_NEAR(cost({.ranks = 100, .link = kTen}) / (2e-3 + (4 * 5e5 - 100e3) * 1e-8), 1, 0.15);
}

TEST(PatternModel, SaysWhatItDoesNotKnow) {
  EXPECT_TRUE(has_model(parse_spec("ring")));
  EXPECT_TRUE(has_model(parse_spec("hierarchical:group=4")));
  EXPECT_FALSE(has_model(parse_spec("openmpi")));
}

}  // namespace
}  // namespace thinpipe
