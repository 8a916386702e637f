#include "workloads/replay/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/replay/plan_tensors.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kMega = std::size_t{1} << 20;

/// Tensors of so many floats, ready in reverse of their order.
std::vector<std::size_t> sizes_of(const PlannedBucket& bucket) {
  std::vector<std::size_t> sizes;
  for (const PlannedUnit& unit : bucket.units) sizes.push_back(unit.info.elements);
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

TEST(Feed, SaysOnlyWhatDiffers) {
  EXPECT_EQ(Feed().to_string(), "");
  Feed feed;
  feed.overlap = Overlap::kBucket;
  feed.codec_beside = true;
  feed.min_elements = 1000;
  feed.local_steps = 4;
  EXPECT_EQ(feed.to_string(), "min_elements=1000;overlap=bucket;codec=thread;local_steps=4");
}

class PlanTest : public ::testing::Test {
 protected:
  std::vector<PlannedBucket> plan(const std::string& rules) const {
    return plan_buckets(tensors_, CompressorRules::parse(rules), feed_);
  }
  std::vector<TraceTensor> tensors_ = tensors_of({100, 200, 300, 5});
  Feed feed_;
};

TEST_F(PlanTest, WithoutMoreEveryTensorIsAUnitOfOneBucket) {
  const auto buckets = plan("3lc");
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_THAT(sizes_of(buckets[0]), ElementsAre(100, 200, 300, 5));
  EXPECT_THAT(buckets[0].tensors(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(buckets[0].units[1].info.name, "t1");
}

TEST_F(PlanTest, OverlapMakesABucketOfEveryBucket) {
  feed_.overlap = Overlap::kBucket;
  feed_.limits = BucketLimits::parse("first=1kb,rest=1kb");
  const auto buckets = plan("3lc");
  ASSERT_EQ(buckets.size(), 2U);
  EXPECT_THAT(buckets[0].tensors(), ElementsAre(3, 2));
  EXPECT_THAT(buckets[1].tensors(), ElementsAre(1, 0));
  EXPECT_THAT(sizes_of(buckets[0]), ElementsAre(5, 300));
}

TEST_F(PlanTest, ABucketOrTheModelIsOneUnit) {
  feed_.granularity = Granularity::kBucket;
  feed_.limits = BucketLimits::parse("first=1kb,rest=1kb");
  auto buckets = plan("3lc");
  ASSERT_EQ(buckets.size(), 1U);  // without overlap they leave together
  EXPECT_THAT(sizes_of(buckets[0]), ElementsAre(305, 300));
  EXPECT_EQ(buckets[0].units[0].info.name, "bucket0/0");
  EXPECT_THAT(buckets[0].units[0].info.shape, ElementsAre(305));
  feed_.granularity = Granularity::kModel;
  buckets = plan("3lc");
  ASSERT_EQ(buckets.size(), 1U);
  EXPECT_THAT(sizes_of(buckets[0]), ElementsAre(605));
  EXPECT_THAT(buckets[0].units[0].tensors, ElementsAre(0, 1, 2, 3));
}

TEST_F(PlanTest, SmallTensorsAndOtherRulesHaveUnitsOfTheirOwn) {
  feed_.min_elements = 6;
  auto buckets = plan("3lc");
  EXPECT_EQ(buckets[0].units[3].compressor.name, "none");
  EXPECT_EQ(buckets[0].units[2].compressor.name, "3lc");
  feed_.granularity = Granularity::kModel;
  buckets = plan("t1:topk;*:3lc");
  ASSERT_EQ(buckets[0].units.size(), 3U);
  EXPECT_THAT(sizes_of(buckets[0]), ElementsAre(400, 200, 5));
  EXPECT_THAT(buckets[0].units[0].tensors, ElementsAre(0, 2));
  EXPECT_EQ(buckets[0].units[1].info.name, "t1");
  EXPECT_EQ(buckets[0].units[1].compressor.name, "topk");
}

}  // namespace
}  // namespace thinpipe
