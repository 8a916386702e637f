#include "harness/predict/codec_calibration.h"

#include <gtest/gtest.h>

#include "harness/files/open_trace.h"

namespace thinpipe {
namespace {

CodecProfile profile_of(const char* compressor, int ranks = 2, const char* pattern = "ring") {
  static const Trace trace = open_trace("synthetic:model=lenet5,workers=2,steps=4");
  CodecCalibration calibration;
  calibration.ranks = ranks;
  calibration.at_once = ranks;
  calibration.seconds = 0;
  calibration.pattern = parse_spec(pattern);
  return measure_codec(trace, parse_spec(compressor), {}, calibration);
}

constexpr double kElements = 431080, kTensors = 8;  // of LeNet-5

TEST(CodecCalibration, OfTheDenseBaselineIsOneAllReduce) {
  const CodecProfile profile = profile_of("none");
  ASSERT_EQ(profile.buckets.size(), 1U);
  const ProfiledBucket& bucket = profile.buckets[0];
  EXPECT_EQ(bucket.tensors.size(), kTensors);
  ASSERT_EQ(bucket.exchanges.size(), 1U);
  EXPECT_EQ(bucket.exchanges[0].exchange, Exchange::kAllReduce);
  EXPECT_EQ(bucket.exchanges[0].bytes, std::vector<double>(2, 4 * kElements));
  EXPECT_EQ(profile.payload_bytes, 4 * kElements);
  EXPECT_EQ(profile.period, 1U);
  EXPECT_EQ(bucket.decode_message, 0);
}

// Two bytes an element, and a length of four a tensor.
TEST(CodecCalibration, OfGatheredPayloadsHasTheirTable) {
  const CodecProfile profile = profile_of("fp16:exchange=allgather", 1);
  EXPECT_EQ(profile.payload_bytes, 2 * kElements);
  ASSERT_EQ(profile.buckets[0].exchanges.size(), 1U);
  EXPECT_EQ(profile.buckets[0].exchanges[0].exchange, Exchange::kAllGather);
  EXPECT_EQ(profile.buckets[0].exchanges[0].mean(1), 2 * kElements + 4 * kTensors);
  EXPECT_GT(profile.buckets[0].compress, 0);
  EXPECT_GT(profile.buckets[0].decode_message, 0);
}

// A hundredth of every tensor, and one element of each at least.
TEST(CodecCalibration, KnowsHowMuchIsSent) {
  EXPECT_NEAR(profile_of("topk:ratio=0.01").density, 0.01, 1e-4);
  EXPECT_EQ(profile_of("fp16", 1).density, 1);
}

TEST(CodecCalibration, FindsRoundsScalesAndDelays) {
  EXPECT_EQ(profile_of("powersgd").buckets[0].exchanges.size(), 2U);
  const CodecProfile shared = profile_of("terngrad");
  ASSERT_EQ(shared.buckets[0].exchanges.size(), 2U);
  EXPECT_EQ(shared.buckets[0].exchanges[0].mean(2), 4 * kTensors);
  const CodecProfile delayed = profile_of("sbc:p=0.01,delay=3");
  EXPECT_EQ(delayed.period, 3U);
  EXPECT_GT(delayed.hold, 0);
}

// Pairs of eight bytes, as many as are aimed at.
TEST(CodecCalibration, OfSparseSumsArePairs) {
  const CodecProfile profile = profile_of("topk:ratio=0.01", 2, "gtopk");
  const auto& exchanges = profile.buckets.at(0).exchanges;
  ASSERT_EQ(exchanges.size(), 1U);
  EXPECT_EQ(exchanges[0].exchange, Exchange::kSparseAllReduce);
  EXPECT_NEAR(exchanges[0].k, kElements / 100, kTensors);
  EXPECT_EQ(exchanges[0].mean(2), 8 * exchanges[0].k);
  // Without a target as many as are sent.
  const CodecProfile without = profile_of("threshold:tau=0", 2, "gtopk");
  const auto& sent = without.buckets.at(0).exchanges.at(0);
  EXPECT_GT(sent.k, kElements / 2);
  EXPECT_EQ(sent.mean(2), 8 * sent.k);
}

// Every tensor is a unit; what is pulled is as long as what is pushed, or as `pull` makes it.
TEST(CodecCalibration, OfParameterServersKnowsUnits) {
  const auto units_of = [](const char* compressor, const char* pattern) {
    return profile_of(compressor, 2, pattern).buckets.at(0).exchanges.at(0).units;
  };
  const auto same = units_of("fp16", "ps:servers=2");
  EXPECT_EQ(same.size(), kTensors + 1 + 24);  // of 25000 and 400000 elements in pieces of 16380
  double elements = 0;
  for (const ProfiledUnit& unit : same) {
    elements += unit.elements;
    EXPECT_EQ(unit.push, 2 * unit.elements);
    EXPECT_EQ(unit.pull, 2 * unit.elements);
    EXPECT_GT(unit.decode, 0);
    EXPECT_GT(unit.compress, 0);
  }
  EXPECT_EQ(elements, kElements);
  for (const ProfiledUnit& unit : units_of("3lc", "ps:pull=none")) {
    EXPECT_LT(unit.push, unit.elements);
    EXPECT_EQ(unit.pull, 4 * unit.elements);
  }
}

}  // namespace
}  // namespace thinpipe
