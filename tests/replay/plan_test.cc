// Rules and limits of bucketing, the plan of a replay's units, and messages that carry several of
// them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/base/support.h"
#include "workloads/replay/bucketing.h"
#include "workloads/replay/message.h"
#include "workloads/replay/plan.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kMega = std::size_t{1} << 20;

std::string of(const std::string& rules, const std::string& tensor) {
  return CompressorRules::parse(rules).of(tensor).to_string();
}

TEST(CompressorRules, APlainSpecIsForAllTensors) {
  const CompressorRules rules = CompressorRules::parse("topk:ratio=0.1");
  EXPECT_TRUE(rules.uniform());
  EXPECT_EQ(rules.of("any").to_string(), "topk:ratio=0.1");
  EXPECT_EQ(rules.method(), "topk");
  EXPECT_EQ(rules.to_string(), "topk:ratio=0.1");
  EXPECT_EQ(rules.specs().size(), 1U);
}

TEST(CompressorRules, TheFirstPatternThatMatchesDecides) {
  const std::string rules = "conv*:none;fc?.weight:topk:ratio=0.001;*.weight:3lc";
  EXPECT_EQ(of(rules, "conv1.weight"), "none");
  EXPECT_EQ(of(rules, "fc1.weight"), "topk:ratio=0.001");
  EXPECT_EQ(of(rules, "lstm.weight"), "3lc");
  EXPECT_EQ(of(rules, "fc1.bias"), "none");  // no rule
  EXPECT_EQ(CompressorRules::parse(rules).method(), "rules");
  EXPECT_EQ(CompressorRules::parse(rules).specs().size(), 3U);
  EXPECT_EQ(of("*[12].weight:3lc", "fc2.weight"), "3lc");
  EXPECT_EQ(of("*[12].weight:3lc", "fc3.weight"), "none");
}

TEST(CompressorRules, APatternWithoutATensorIsFound) {
  const std::vector<std::string> tensors = {"conv1.weight", "fc1.bias"};
  const auto unmatched = [&](const std::string& rules) {
    return CompressorRules::parse(rules).unmatched(tensors);
  };
  // The second rule has a tensor, although the first one decides about it.
  EXPECT_THAT(unmatched("conv*:none;conv1.*:bf16;fc?.weight:3lc;*:topk"),
              ElementsAre("fc?.weight"));
  EXPECT_THAT(unmatched("topk"), ElementsAre());
}

TEST(CompressorRules, ASingleNameEndsInASemicolon) {
  const CompressorRules rules = CompressorRules::parse("fc1.weight:topk:ratio=0.01;");
  EXPECT_FALSE(rules.uniform());
  EXPECT_EQ(rules.to_string(), "fc1.weight:topk:ratio=0.01;");
  EXPECT_EQ(CompressorRules::parse(rules.to_string()), rules);
}

TEST(CompressorRules, WhatIsPrintedReadsTheSame) {
  for (const char* text : {"3lc", "conv*:none;fc*:topk:ratio=0.001", "*:3lc;", "a:none;b:3lc;"}) {
    const CompressorRules rules = CompressorRules::parse(text);
    EXPECT_EQ(CompressorRules::parse(rules.to_string()), rules) << text;
  }
}

TEST(CompressorRules, AlternativesOfAllPartsAreCrossed) {
  const auto all = CompressorRules::expand("conv*:none|bf16;*:topk:ratio=0.1|0.01");
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].to_string(), "conv*:none;*:topk:ratio=0.1");
  EXPECT_EQ(all[3].to_string(), "conv*:bf16;*:topk:ratio=0.01");
  EXPECT_EQ(CompressorRules::expand("topk:ratio=0.1|0.01").size(), 2U);
  EXPECT_THROW(CompressorRules::parse("*:topk:ratio=0.1|0.01"), InputError);
}

TEST(CompressorRules, SayWhatIsWrong) {
  for (const char* text : {";", "conv*:", "*", ":3lc;", "conv*;3lc", "conv*:to pk;"}) {
    EXPECT_THROW(CompressorRules::parse(text), InputError) << text;
  }
}

TEST(BucketLimits, AreReadAndPrinted) {
  EXPECT_EQ(BucketLimits::parse("ddp"), BucketLimits());
  EXPECT_EQ(BucketLimits::parse("ddp").to_string(), "ddp");
  const BucketLimits limits = BucketLimits::parse("rest=4mb,order=reverse");
  EXPECT_EQ(limits.first, kMega);
  EXPECT_EQ(limits.rest, 4 * kMega);
  EXPECT_EQ(limits.to_string(), "first=1mb,rest=4mb,order=reverse");
  EXPECT_EQ(BucketLimits::parse(limits.to_string()), limits);
  EXPECT_EQ(BucketLimits::parse("first=100,rest=3kb").to_string(),
            "first=100b,rest=3kb,order=ready");
  for (const char* text : {"", "first", "first=0", "size=1mb", "order=up", "first=1mb,"})
    EXPECT_THROW(BucketLimits::parse(text), InputError) << text;
}

TEST(Bucketing, SaysOnlyWhatDiffers) {
  EXPECT_EQ(Bucketing().to_string(), "");
  Bucketing bucketing;
  bucketing.overlap = Overlap::kBucket;
  bucketing.codec_beside = true;
  bucketing.min_elements = 1000;
  bucketing.local_steps = 4;
  EXPECT_EQ(bucketing.to_string(), "min_elements=1000;overlap=bucket;codec=thread;local_steps=4");
}

// With P = 3 fragments in H = 10 local steps, turns are after steps 10/3, 20/3 and 10, rounded
// down.
TEST(Bucketing, SpreadsTheTurnsOfFragments) {
  Bucketing bucketing;
  bucketing.local_steps = 10;
  bucketing.fragments = 3;
  EXPECT_EQ(bucketing.to_string(), "local_steps=10;fragments=3");
  for (const auto& [bucket, taken] : {std::pair(0, 3), std::pair(1, 6), std::pair(2, 10)})
    for (int index = 0; index < 20; ++index) {
      EXPECT_EQ(bucketing.has_turn(bucket, index), (index + 1) % 10 == taken % 10) << index;
      EXPECT_EQ(bucketing.begins_sum(bucket, index), index % 10 == taken % 10) << index;
      EXPECT_FALSE(bucketing.is_within_exchange(index));
    }
}

// A fragment that is delayed by two steps leaves two steps before its turn. Its sum then begins
// anew, and the first of the two steps overlaps its exchange.
TEST(Bucketing, DelayedFragmentsLeaveBeforeTheirTurns) {
  Bucketing bucketing;
  bucketing.local_steps = 10;
  bucketing.fragments = 3;
  bucketing.fragment_delay = 2;
  EXPECT_EQ(bucketing.to_string(), "local_steps=10;fragments=3;fragment_delay=2");
  bucketing.fragment_mix = 0.25;
  EXPECT_EQ(bucketing.to_string(), "local_steps=10;fragments=3;fragment_delay=2;fragment_mix=0.25");
  for (const auto& [bucket, taken] : {std::pair(0, 3), std::pair(1, 6), std::pair(2, 10)})
    for (int index = 0; index < 20; ++index) {
      EXPECT_EQ(bucketing.has_turn(bucket, index), (index + 1) % 10 == taken % 10) << index;
      EXPECT_EQ(bucketing.begins_sum(bucket, index), index % 10 == taken - 2) << index;
    }
  for (int index = 0; index < 20; ++index) {
    const int taken = index % 10 + 1;  // steps of this period
    EXPECT_EQ(bucketing.is_within_exchange(index), taken == 2 || taken == 5 || taken == 9) << index;
  }
}

// "t0", "t1", ..., of which the last is ready first.
std::vector<TraceTensor> tensors_of(const std::vector<std::size_t>& sizes) {
  std::vector<TraceTensor> tensors;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    tensors.push_back({"t" + std::to_string(i),
                       {static_cast<std::int64_t>(sizes[i])},
                       sizes[i],
                       sizes.size() - 1 - i});
  return tensors;
}

std::vector<std::size_t> sizes_of(const std::vector<PlannedUnit>& units) {
  std::vector<std::size_t> sizes;
  for (const PlannedUnit& unit : units) sizes.push_back(unit.info.elements);
  return sizes;
}

TEST(Buckets, CloseWhenTheyHoldTheirLimit) {
  // 4 bytes an element; limits as DDP has them: 1 MB, then 25 MB.
  const auto tensors = tensors_of({kMega, 5 * kMega, 2 * kMega, 100, kMega / 8, kMega / 8, 10});
  const auto buckets = bucket_tensors(tensors, BucketLimits());
  ASSERT_EQ(buckets.size(), 3U);
  EXPECT_THAT(buckets[0], ElementsAre(6, 5, 4));  // 40 B + 0.5 MB + 0.5 MB
  EXPECT_THAT(buckets[1], ElementsAre(3, 2, 1));  // 400 B + 8 MB + 20 MB: over, once closed
  EXPECT_THAT(buckets[2], ElementsAre(0));
}

TEST(Buckets, CloseWhenTheyHoldExactlyTheirLimit) {
  // 256 elements are the 1 kB of the first bucket, 512 the 2 kB of the others.
  const auto tensors = tensors_of({256, 256, 256, 512, 256});
  EXPECT_THAT(bucket_tensors(tensors, BucketLimits::parse("first=1kb,rest=2kb")),
              ElementsAre(ElementsAre(4), ElementsAre(3), ElementsAre(2, 1), ElementsAre(0)));
}

TEST(Buckets, AreOrderedByWhatIsAskedFor) {
  auto tensors = tensors_of({10, 20, 30});
  tensors[0].ready_order = 0;
  tensors[1].ready_order = 2;
  tensors[2].ready_order = 1;
  BucketLimits each = BucketLimits::parse("first=1,rest=1");
  EXPECT_THAT(bucket_tensors(tensors, each),
              ElementsAre(ElementsAre(0), ElementsAre(2), ElementsAre(1)));
  each.order = BucketLimits::Order::kReverse;
  EXPECT_THAT(bucket_tensors(tensors, each),
              ElementsAre(ElementsAre(2), ElementsAre(1), ElementsAre(0)));
}

class PlanTest : public ::testing::Test {
 protected:
  std::vector<PlannedBucket> plan(const std::string& rules) const {
    return plan_buckets(tensors_, CompressorRules::parse(rules), bucketing_);
  }
  std::vector<TraceTensor> tensors_ = tensors_of({100, 200, 300, 5});
  Bucketing bucketing_;
};

TEST_F(PlanTest, WithoutMoreEveryTensorIsAUnitOfOneBucket) {
  const auto buckets = plan("3lc");
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_THAT(sizes_of(buckets[0].units), ElementsAre(100, 200, 300, 5));
  EXPECT_THAT(buckets[0].tensors(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(buckets[0].units[1].info.name, "t1");
}

TEST_F(PlanTest, OverlapMakesABucketOfEveryBucket) {
  bucketing_.overlap = Overlap::kBucket;
  bucketing_.limits = BucketLimits::parse("first=1kb,rest=1kb");
  const auto buckets = plan("3lc");
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_THAT(buckets[0].tensors(), ElementsAre(3, 2));
  EXPECT_THAT(buckets[1].tensors(), ElementsAre(1, 0));
  EXPECT_THAT(sizes_of(buckets[0].units), ElementsAre(5, 300));
}

TEST_F(PlanTest, ABucketOrTheModelIsOneUnit) {
  bucketing_.granularity = Granularity::kBucket;
  bucketing_.limits = BucketLimits::parse("first=1kb,rest=1kb");
  auto buckets = plan("3lc");
  ASSERT_EQ(buckets.size(), 1U);  // without overlap they leave together
  EXPECT_THAT(sizes_of(buckets[0].units), ElementsAre(305, 300));
  EXPECT_EQ(buckets[0].units[0].info.name, "bucket0/0");
  EXPECT_THAT(buckets[0].units[0].info.shape, ElementsAre(305));
  bucketing_.granularity = Granularity::kModel;
  buckets = plan("3lc");
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_THAT(sizes_of(buckets[0].units), ElementsAre(605));
  EXPECT_THAT(buckets[0].units[0].tensors, ElementsAre(0, 1, 2, 3));
}

TEST_F(PlanTest, FragmentsAreRunsOfAboutAsManyElements) {
  bucketing_.local_steps = 4;
  const auto fragments_of = [&](std::size_t count) {
    bucketing_.fragments = count;
    std::vector<std::vector<std::size_t>> tensors;
    for (const PlannedBucket& bucket : plan("3lc")) tensors.push_back(bucket.tensors());
    return tensors;
  };
  // Of 100, 200, 300 and 5 elements, 300 are nearest to half of 605; 302.5 and 453.75 are nearest
  // to 300 and 600.
  EXPECT_THAT(fragments_of(2), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(fragments_of(4),
              ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3)));
  EXPECT_THROW(fragments_of(5), InputError);
}

TEST_F(PlanTest, SmallTensorsAndOtherRulesHaveUnitsOfTheirOwn) {
  bucketing_.min_elements = 6;
  auto buckets = plan("3lc");
  EXPECT_EQ(buckets[0].units[3].compressor.name, "none");
  EXPECT_EQ(buckets[0].units[2].compressor.name, "3lc");
  bucketing_.granularity = Granularity::kModel;
  buckets = plan("t1:topk;*:3lc");
  ASSERT_EQ(buckets[0].units.size(), 3U);
  EXPECT_THAT(sizes_of(buckets[0].units), ElementsAre(400, 200, 5));
  EXPECT_THAT(buckets[0].units[0].tensors, ElementsAre(0, 2));
  EXPECT_EQ(buckets[0].units[1].info.name, "t1");
  EXPECT_EQ(buckets[0].units[1].compressor.name, "topk");
}

std::vector<PlannedUnit> slices_of(const std::vector<std::size_t>& sizes, const std::string& spec,
                                   int ranks, const Bucketing& bucketing = {}) {
  const auto tensors = tensors_of(sizes);
  return sliced(plan_buckets(tensors, CompressorRules::parse(spec), bucketing), tensors, ranks)
      .at(0)
      .units;
}

std::vector<int> slice_owners(const std::vector<PlannedUnit>& units) {
  std::vector<int> owners;
  for (const PlannedUnit& unit : units) owners.push_back(unit.owner);
  return owners;
}

TEST(Slices, AreEvenAndOneARank) {
  const auto even = slices_of({10000}, "3lc", 3);
  EXPECT_THAT(sizes_of(even), ElementsAre(3334, 3333, 3333));
  EXPECT_THAT(slice_owners(even), ElementsAre(0, 1, 2));
  EXPECT_EQ(even[1].info.name, "t0[3334..6666]");
  EXPECT_EQ(even[1].first, 3334U);
  EXPECT_THAT(even[1].tensors, ElementsAre(0));
}

TEST(Slices, EndWhereBlocksDo) {
  // 40 blocks of 256 elements, the last with 16: 14, 13 and 13 of them.
  EXPECT_THAT(sizes_of(slices_of({10000}, "blockint4:block=256", 3)),
              ElementsAre(14 * 256, 13 * 256, 12 * 256 + 16));
}

TEST(Slices, SmallTensorsStayWholeAndGoToWhoeverHasLeast) {
  const auto units = slices_of({5000, 100, 0, 2100, 90}, "3lc", 4);
  // 5000 elements are 4 slices of more than 1024, 2100 are 2.
  EXPECT_THAT(sizes_of(units), ElementsAre(1250, 1250, 1250, 1250, 100, 0, 1050, 1050, 90));
  EXPECT_THAT(slice_owners(units), ElementsAre(0, 1, 2, 3, 0, 1, 1, 2, 3));
}

TEST(Slices, OfAVectorOfSeveralTensors) {
  Bucketing model;
  model.granularity = Granularity::kModel;
  const auto units = slices_of({1500, 10, 3000}, "3lc", 2, model);
  ASSERT_EQ(units.size(), 2U);
  EXPECT_THAT(units[0].tensors, ElementsAre(0, 1, 2));
  EXPECT_EQ(units[0].first, 0U);
  EXPECT_THAT(units[1].tensors, ElementsAre(2));
  EXPECT_EQ(units[1].first, 2255U - 1510);
  EXPECT_THAT((PlannedBucket{.units = units}).tensors(), ElementsAre(0, 1, 2));
}

TEST(SplitMessage, GivesEachTensorItsPayload) {
  // Two lengths (3 and 0), then three bytes.
  const auto message = bytes_of({3, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9});
  std::vector<std::span<const std::byte>> payloads(2);
  split_message(message, payloads);
  ASSERT_EQ(payloads[0].size(), 3U);
  EXPECT_EQ(payloads[0][1], std::byte{8});
  EXPECT_TRUE(payloads[1].empty());
}

TEST(SplitMessage, RefusesLengthsThatDoNotFit) {
  std::vector<std::span<const std::byte>> payloads(1);
  EXPECT_THROW(split_message(bytes_of({1, 0, 0}), payloads), InputError);        // no table
  EXPECT_THROW(split_message(bytes_of({2, 0, 0, 0, 1}), payloads), InputError);  // too short
  EXPECT_THROW(split_message(bytes_of({0, 0, 0, 0, 1}), payloads), InputError);  // too long
  EXPECT_THROW(split_message(bytes_of({255, 255, 255, 255, 1}), payloads), InputError);
}

}  // namespace

}  // namespace thinpipe
