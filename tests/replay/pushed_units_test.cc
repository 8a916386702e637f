#include "workloads/replay/pushed_units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace thinpipe {
namespace {

// Servers that answer a push when they are asked for it a second time.
class CountingServers : public Pattern {
 public:
  std::size_t push(std::span<const UnitPayload> payloads) override {
    std::vector<std::size_t>& units = pushes.emplace_back();
    for (const UnitPayload& one : payloads) units.push_back(one.unit);
    asked_.push_back(0);
    return pushes.size() - 1;
  }
  bool pull(std::size_t push) override { return ++asked_.at(push) > 1; }
  void progress() override { ++moved; }
  std::span<const std::byte> pulled(std::size_t unit) const override {
    return std::span(kAnswer).first(unit);
  }
  TransportCounters counters() const override { return {}; }

  std::vector<std::vector<std::size_t>> pushes;  ///< units of each
  std::size_t moved = 0;

 private:
  static constexpr std::byte kAnswer[16] = {};
  std::vector<int> asked_;
};

PlannedUnit unit(const std::string& name, std::int64_t elements, const std::string& spec) {
  return {{name, {elements}, static_cast<std::size_t>(elements)}, parse_spec(spec), {0}};
}

// The largest first (push_order): 1, 2, 0. Of 20000 floats three pieces of 8190, 8190 and 3620.
const PlannedBucket kBucket{
    {unit("a", 100, "int8"), unit("b", 20'000, "none"), unit("c", 300, "int8")}};

class PushedUnitsTest : public ::testing::Test {
 protected:
  const std::vector<std::byte> bytes_ = std::vector<std::byte>(80'000);
  const std::vector<std::span<const std::byte>> payloads_ = {
      std::span(bytes_).first(104), std::span(bytes_).first(80'000), std::span(bytes_).first(304)};
  PushedUnits pushed_{kBucket, {}, 5, {}};
  CountingServers servers_;
};

TEST_F(PushedUnitsTest, WhatIsThereIsPushedAtOnce) {
  EXPECT_EQ((std::vector<std::size_t>(pushed_.order().begin(), pushed_.order().end())),
            (std::vector<std::size_t>{1, 2, 0}));
  pushed_.push(
      servers_, [](std::size_t) { return true; }, payloads_);
  // Of all units before it in the plan a unit's first piece is behind: 5, then 6 to 8, then 9.
  EXPECT_EQ(servers_.pushes, (std::vector<std::vector<std::size_t>>{{6, 7, 8, 9, 5}}));
  EXPECT_EQ(servers_.moved, 0U);
  EXPECT_FALSE(pushed_.pull(servers_));
  EXPECT_TRUE(pushed_.pull(servers_));
  EXPECT_EQ(pushed_.pulled_bytes(), 5U + 6 + 7 + 8 + 9);
}

// Bytes come 40 000 at a time: pieces of 32 760 bytes, 14 480 of the third, then 304 and 104.
TEST_F(PushedUnitsTest, EachPieceIsPushedAsSoonAsItIsThere) {
  const auto come = [&](std::size_t unit) {
    const std::size_t before = unit == 1 ? 0 : unit == 2 ? 80'000 : 80'304;
    const std::size_t all = 40'000 * servers_.moved;
    return std::min(all - std::min(all, before), payloads_[unit].size());
  };
  pushed_.push(
      servers_, [](std::size_t) { return true; }, payloads_, come);
  EXPECT_EQ(servers_.pushes, (std::vector<std::vector<std::size_t>>{{6}, {7, 8}, {9, 5}}));
  EXPECT_EQ(servers_.moved, 3U);
  // All three must be answered: asked four times, since a push is answered at the second.
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(pushed_.pull(servers_));
  EXPECT_TRUE(pushed_.pull(servers_));
  EXPECT_EQ(pushed_.pulled_bytes(), 5U + 6 + 7 + 8 + 9);
}

TEST_F(PushedUnitsTest, WhatIsNotSentIsNotWaitedFor) {
  const auto come = [](std::size_t unit) { return unit == 2 ? std::size_t{304} : 0; };
  pushed_.push(
      servers_, [](std::size_t unit) { return unit == 2; }, payloads_, come);
  EXPECT_EQ(servers_.pushes, (std::vector<std::vector<std::size_t>>{{9}}));
  pushed_.push(
      servers_, [](std::size_t) { return false; }, payloads_, come);
  EXPECT_EQ(servers_.pushes.size(), 1U);
  EXPECT_TRUE(pushed_.pull(servers_));
  EXPECT_EQ(pushed_.pulled_bytes(), 0U);
}

}  // namespace
}  // namespace thinpipe
