#include "workloads/replay/push_pull_units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "compressors/registry.h"

namespace thinpipe {
namespace {

const PushPullOptions kPulledAlike;

PushPullOptions pulled_by(const std::string& spec) {
  PushPullOptions options;
  options.pull = parse_spec(spec);
  return options;
}

// A segment has 32768 bytes, of which 8 are the unit's head: 8190 floats.
TEST(Pieces, AreOfASegmentEach) {
  EXPECT_EQ(pieces_of(8190, parse_spec("none"), kPulledAlike).count, 1U);
  const Pieces floats = pieces_of(8191, parse_spec("none"), kPulledAlike);
  EXPECT_EQ(floats.count, 2U);
  EXPECT_EQ(floats.elements, 8190U);
  EXPECT_EQ(floats.push_bytes, 32760U);
  const Pieces halves = pieces_of(100000, parse_spec("fp16:memory=residual"), kPulledAlike);
  EXPECT_EQ(halves.count, 7U);
  EXPECT_EQ(halves.elements, 16380U);
  // The longer direction decides.
  const Pieces mixed = pieces_of(100000, parse_spec("bf16"), pulled_by("none"));
  EXPECT_EQ(mixed.count, 13U);
  EXPECT_EQ(mixed.push_bytes, 8190U * 2);
}

TEST(Pieces, AreNotOfMethodsThatNeedTheWholeTensor) {
  for (const char* spec : {"topk", "3lc", "powersgd", "int8", "fp16:clip=1"})
    EXPECT_EQ(pieces_of(1 << 20, parse_spec(spec), kPulledAlike).count, 1U) << spec;
  EXPECT_EQ(pieces_of(1 << 20, parse_spec("none"), pulled_by("3lc")).count, 1U);
  EXPECT_EQ(pieces_of(1 << 20, parse_spec("topk"), pulled_by("none")).count, 1U);
  EXPECT_EQ(pieces_of(0, parse_spec("none"), kPulledAlike).count, 1U);
}

// element_bytes() is right for every method: payloads of pieces are pieces of the payload, with any
// memory.
TEST(Pieces, OfAPayloadAreThePayloadsOfPieces) {
  int found = 0;
  constexpr std::size_t kElements = 1000, kFirst = 380;
  for (const MethodInfo& method : methods()) {
    if (element_bytes(parse_spec(method.name)) == 0) continue;
    ++found;
    for (const std::string memory : {"none", "residual", "ef21", "momentum"}) {
      if (method.parameters.empty() && memory != "none") continue;
      std::string text = method.name;
      if (!method.parameters.empty()) text += ":delay=1,memory=" + memory;
      SCOPED_TRACE(text);
      const Spec spec = parse_spec(text);
      const auto make = [&](std::size_t elements) {
        return make_compressor(spec, {"t", {static_cast<std::int64_t>(elements)}, elements},
                               CompressorSettings{});
      };
      const auto whole = make(kElements), first = make(kFirst), second = make(kElements - kFirst);
      std::mt19937 generator(7);
      std::normal_distribution<float> values;
      for (std::uint64_t step = 0; step < 3; ++step) {
        std::vector<float> gradient(kElements);
        for (float& value : gradient) value = values(generator);
        const auto encoded = [&](Compressor& compressor, std::span<const float> part) {
          std::vector<std::byte> payload(compressor.max_encoded_size());
          payload.resize(compressor.encode({.values = part, .squares = {}, .step = step}, payload)
                             .encoded_bytes);
          EXPECT_EQ(payload.size(), part.size() * element_bytes(spec));
          return payload;
        };
        std::vector<std::byte> parts = encoded(*first, std::span(gradient).first(kFirst));
        const auto rest = encoded(*second, std::span(gradient).subspan(kFirst));
        parts.insert(parts.end(), rest.begin(), rest.end());
        EXPECT_EQ(encoded(*whole, gradient), parts);
      }
    }
  }
  EXPECT_EQ(found, 4);
}

TEST(Pieces, AreUnitsOfTheirOwn) {
  PlannedBucket bucket;
  bucket.units.push_back({{"a", {10}, 10}, parse_spec("none"), {0}});
  bucket.units.push_back({{"b", {100, 164}, 16400}, parse_spec("none"), {1}});
  bucket.units.push_back({{"c", {20000}, 20000}, parse_spec("topk"), {2}});
  const std::vector<PlannedBucket> buckets = {bucket, bucket};
  const std::vector<ReplayUnit> units = replay_units(buckets, kPulledAlike);
  ASSERT_EQ(units.size(), 10U);
  EXPECT_EQ(units[1].tensor.name, "b[0..8189]");
  EXPECT_EQ(units[2].tensor.name, "b[8190..16379]");
  EXPECT_EQ(units[3].tensor.name, "b[16380..16399]");
  EXPECT_EQ(units[3].tensor.elements, 20U);
  EXPECT_EQ(units[3].offset, 10U + 16380);
  EXPECT_EQ(units[4].offset, 16410U);
  EXPECT_EQ(units[5].offset, 36410U);
  EXPECT_EQ(units[5].bucket, 1U);
  // Dealt one by one, so that two servers have as much of them.
  const PushPullLayout layout = push_pull_layout(
      units, push_pull_options(parse_spec("ps:servers=2"), 3), 3, CompressorSettings{});
  EXPECT_NE(layout.units[1].server, layout.units[2].server);
  EXPECT_EQ(layout.units[1].push_capacity, 32760U);
  EXPECT_EQ(layout.units[3].pull_capacity, 80U);
}

TEST(PushOrder, IsTheLargestFirstUnlessMoreIsPulled) {
  std::vector<PlannedUnit> units;
  for (const std::size_t elements : {20U, 300U, 40U, 300U})
    units.push_back(
        {{"t", {static_cast<std::int64_t>(elements)}, elements}, parse_spec("topk:ratio=0.1"), {}});
  using Order = std::vector<std::size_t>;
  EXPECT_EQ(push_order(units, kPulledAlike), (Order{1, 3, 2, 0}));
  EXPECT_EQ(push_order(units, pulled_by("3lc")), (Order{1, 3, 2, 0}));
  EXPECT_EQ(push_order(units, pulled_by("none")), (Order{0, 2, 1, 3}));
  units[1].compressor = parse_spec("none");
  EXPECT_EQ(push_order(units, pulled_by("none")), (Order{0, 2, 3, 1}));
}

// Servers that answer a push at the second request for it.
class CountingServers final : public PushPull {
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

  std::vector<std::vector<std::size_t>> pushes;  ///< units of each
  std::size_t moved = 0;

 private:
  static constexpr std::byte kAnswer[16] = {};
  std::vector<int> asked_;
};

PlannedUnit unit(const std::string& name, std::int64_t elements, const std::string& spec) {
  return {{name, {elements}, static_cast<std::size_t>(elements)}, parse_spec(spec), {0}};
}

// The largest first (push_order): 1, 2, 0. 20000 floats are pieces of 8190, 8190 and 3620.
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
  // Pieces are numbered in the order of units in the plan, which differs from the order of pushing:
  // the units have piece 5, pieces 6 to 8, and piece 9.
  EXPECT_EQ(servers_.pushes, (std::vector<std::vector<std::size_t>>{{6, 7, 8, 9, 5}}));
  EXPECT_EQ(servers_.moved, 0U);
  EXPECT_FALSE(pushed_.pull(servers_));
  EXPECT_TRUE(pushed_.pull(servers_));
  EXPECT_EQ(pushed_.pulled_bytes(), 5U + 6 + 7 + 8 + 9);
}

// Bytes become ready 40 000 at a time. The first unit has two pieces of 32 760 bytes and a third of
// 14 480; the other units have 304 and 104 bytes.
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
  // All three must be answered: pulled four times, since a push is answered at the second.
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
