#include "workloads/exchange/transport.h"

#include <gtest/gtest.h>

#include <vector>

namespace thinpipe {
namespace {

constexpr double kTurn = 1e-6;  // s from one question to the next, where the rank does not sleep

// A rank that waits so many seconds for each of `waits` things; a sleep ends when it should.
// Returns what it slept in each, in ns.
std::vector<std::vector<long>> sleeps(IdleRank& rank, double wait, int waits) {
  std::vector<std::vector<long>> all;
  double now = 1000;
  for (int i = 0; i < waits; ++i) {
    std::vector<long>& slept = all.emplace_back();
    for (const double until = now + wait; now < until;) {
      const long sleep = rank.pause(now);
      if (sleep > 0) slept.push_back(sleep);
      now += sleep > 0 ? static_cast<double>(sleep) * 1e-9 : kTurn;
    }
    rank.progressed();
  }
  return all;
}

TEST(IdleRank, SleepsLongerAndLongerAndShortlyAgainAfterProgress) {
  IdleRank rank(false);
  const std::vector<long> doubling = {10'000, 20'000, 40'000, 80'000, 100'000, 100'000};
  EXPECT_EQ(sleeps(rank, 340e-6, 3), std::vector(3, doubling));
}

TEST(IdleRank, WithoutACoreOfItsOwnItNeverAsksAgainAtOnce) {
  IdleRank rank(false);
  for (const auto& slept : sleeps(rank, 5e-6, 100)) EXPECT_EQ(slept.size(), 1U);
}

TEST(IdleRank, AsksAgainWhileWaitsAreShort) {
  IdleRank rank(true);
  for (const auto& slept : sleeps(rank, 20e-6, 100)) EXPECT_TRUE(slept.empty());
}

// A segment at 1 Gbit/s.
TEST(IdleRank, GivesUpAskingWhereWaitsAreLong) {
  IdleRank rank(true);
  const auto first = sleeps(rank, 262e-6, 10);
  for (const auto& slept : first) EXPECT_FALSE(slept.empty());
  int asked = 0;
  for (const auto& slept : sleeps(rank, 25e-6, 15)) asked += slept.empty();
  EXPECT_LE(asked, 1);
}

TEST(IdleRank, FindsOutThatWaitsHaveBecomeShort) {
  IdleRank rank(true);
  sleeps(rank, 262e-6, 100);
  const auto later = sleeps(rank, 20e-6, 16 * 20 + 10);
  for (std::size_t i = later.size() - 10; i < later.size(); ++i) EXPECT_TRUE(later[i].empty()) << i;
}

}  // namespace
}  // namespace thinpipe
