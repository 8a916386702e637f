#include "harness/predict/compute_device.h"

#include <gtest/gtest.h>

#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

Trace synthetic(const std::string& text) { return make_synthetic(parse_synthetic_spec(text)); }

TEST(ComputeDevice, IsTheCardThatTimesAreEstimatedFor) {
  const auto card = compute_device(synthetic("synthetic:model=resnet50"));
  ASSERT_TRUE(card);
  EXPECT_EQ(card->name, "NVIDIA V100-SXM2");
  EXPECT_EQ(card->memory_rate, 900e9);
  EXPECT_FALSE(compute_device(synthetic("synthetic:model=lenet5")));   // measured on a processor
  EXPECT_FALSE(compute_device(synthetic("synthetic:elements=1000")));  // no compute times
}

// Read once and written once: 4 bytes an element each.
TEST(ComputeDevice, AtItsMemorysPaceACodecTakesTwoPasses) {
  const Trace trace = synthetic("synthetic:elements=1000");
  CodecProfile profile;
  profile.hold = 1;
  profile.buckets.push_back({.tensors = {0},
                             .compress = 5,
                             .decode = 6,
                             .decode_message = 7,
                             .exchanges = {{.exchange = Exchange::kPushPull,
                                            .bytes = {10},
                                            .copies = 3,
                                            .units = {{1000, 10, 10, 4, 4}}}}});
  const CodecProfile bound = at_memory_pace(profile, trace, {"a card", 1e6});
  EXPECT_DOUBLE_EQ(bound.buckets[0].compress, 4e-3);
  EXPECT_DOUBLE_EQ(bound.buckets[0].decode, 4e-3);
  EXPECT_EQ(bound.buckets[0].decode_message, 0);
  EXPECT_EQ(bound.buckets[0].exchanges[0].copies, 0);
  EXPECT_EQ(bound.buckets[0].exchanges[0].units[0].decode, 0);
  EXPECT_EQ(bound.buckets[0].exchanges[0].bytes, std::vector<double>{10});
  EXPECT_EQ(bound.hold, 0);
  EXPECT_EQ(at_memory_pace(profile, trace, {"a card", 0}).buckets[0].compress, 0);
}

}  // namespace
}  // namespace thinpipe
