// A compressor's figures for predictions: from records, or measured on the spot.
#include "harness/predict/codec_profile.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "harness/files/open_trace.h"
#include "harness/predict/codec_calibration.h"
#include "tests/base/document.h"
#include "workloads/replay/device_gather.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

const Trace& trace() {
  static const Trace one = open_trace("synthetic:elements=1k");
  return one;
}

Point point(const std::string& compressor, int ranks, double compress, double decode) {
  Point point;
  point.axes.compressor = compressor;
  point.axes.ranks = ranks;
  point.metrics["compress_cpu_time"].samples = {compress, compress, 9};
  point.metrics["decode_time"].samples = {decode, decode, 9};
  point.metrics["payload_bytes"].samples = {100, 300};
  return point;
}

Records records() {
  Records records;
  records.file = "out/records.jsonl";
  records.headers.emplace_back().trace = document({{"identity", trace().identity()}});
  records.points = {point("topk", 4, 5e-3, 8e-3), point("topk", 2, 3e-3, 4e-3),
                    point("none", 2, 1e-3, 0), point("terngrad", 2, 1e-3, 0)};
  return records;
}

// Two ranks crowd each other least: 4 ms for two messages.
TEST(CodecRecords, TakesThePointsWithFewestRanks) {
  const CodecProfile profile = recorded_codec(records(), trace(), parse_spec("topk"));
  EXPECT_EQ(profile.buckets.at(0).compress, 3e-3);
  EXPECT_EQ(profile.buckets.at(0).decode_message, 2e-3);
  EXPECT_EQ(profile.payload_bytes, 200);
  EXPECT_EQ(profile.buckets.at(0).exchanges.at(0).bytes.at(0), 204);
  EXPECT_EQ(profile.source, "records of out/records.jsonl");
}

// 0.01 is top-k's default ratio.
TEST(CodecRecords, AreOfASpecWithOrWithoutItsDefaults) {
  EXPECT_TRUE(has_codec(records(), parse_spec("topk:ratio=0.01")));
  EXPECT_FALSE(has_codec(records(), parse_spec("topk:ratio=0.02")));
}

TEST(CodecRecords, NameTheirCompressorsInOrder) {
  Records some = records();
  some.points[2].status = Status::kFailed;
  some.points.push_back(point("fc*:none;*:topk", 2, 1e-3, 0));
  EXPECT_EQ(recorded_compressors(some),
            (std::vector<CompressorRules>{parse_spec("topk"), parse_spec("terngrad")}));
}

// The CPU time of several threads is their sum, 12 ms; the codec takes 4 ms.
TEST(CodecRecords, OfSeveralThreadsAreElapsedTimes) {
  Records some = records();
  some.headers[0].threads = 3;
  some.points = {point("topk", 2, 12e-3, 4e-3)};
  some.points[0].metrics["compress_time"].samples = {4e-3};
  EXPECT_EQ(recorded_codec(some, trace(), parse_spec("topk")).buckets.at(0).compress, 4e-3);
}

// Records have means over the steps of a period.
TEST(CodecRecords, OfADelayedMethodAreThoseOfAStepWithAnExchange) {
  Records some = records();
  some.points = {point("topk:delay=10", 2, 3e-3, 4e-3)};
  const CodecProfile profile = recorded_codec(some, trace(), parse_spec("topk:delay=10"));
  EXPECT_EQ(profile.period, 10);
  EXPECT_DOUBLE_EQ(profile.payload_bytes, 2000);
  EXPECT_DOUBLE_EQ(profile.buckets.at(0).compress, 3e-2);
  EXPECT_DOUBLE_EQ(profile.buckets.at(0).decode_message, 2e-2);
}

// An answer of servers is decoded once, and gathered messages are decoded one by one.
TEST(CodecRecords, TakesNoPointsWithServers) {
  Records some = records();
  for (Point& one : some.points) one.axes.collective = "pushpull-ps";
  EXPECT_THROW(recorded_codec(some, trace(), parse_spec("topk")), InputError);
  some.points[0].axes.collective = "allgather-ring";
  EXPECT_DOUBLE_EQ(recorded_codec(some, trace(), parse_spec("topk")).buckets.at(0).decode_message,
                   2e-3);
}

TEST(CodecRecords, KnowsWhatIsExchanged) {
  const auto dense = recorded_codec(records(), trace(), parse_spec("none")).buckets.at(0).exchanges;
  ASSERT_EQ(dense.size(), 1U);
  EXPECT_EQ(dense[0].operation, Exchange::kAllReduce);
  const auto shared =
      recorded_codec(records(), trace(), parse_spec("terngrad")).buckets.at(0).exchanges;
  ASSERT_EQ(shared.size(), 2U);
  EXPECT_EQ(shared[0].bytes.at(0), 4);
}

Point on_gpu(Point point, double compress, double down, double up) {
  point.axes.device = "cuda";
  point.metrics["compress_cpu_time"].samples = {9};
  point.metrics["compress_time"].samples = {compress};
  point.metrics["copy_down_time"].samples = {down};
  point.metrics["copy_up_time"].samples = {up};
  return point;
}

// A GPU's payload of 200 bytes is copied in one chunk, a payload of a MiB in four, and only the
// first chunk is waited for. Data to be summed is copied to the host as a whole. A method with two
// rounds copies data twice, and uploads the means in between.
TEST(CodecRecords, OfAGpuHaveCopiesThatNothingHides) {
  Records records;
  records.headers.emplace_back().trace = document({{"identity", trace().identity()}});
  Point great = on_gpu(point("3lc", 2, 0, 4e-3), 1e-3, 6e-4, 2e-4);
  great.metrics["payload_bytes"].samples = {4.0 * kDownloadPiece};
  records.points = {point("topk", 2, 3e-3, 4e-3),
                    on_gpu(point("topk", 4, 0, 8e-3), 2e-3, 3e-4, 1e-4),
                    on_gpu(point("none", 4, 0, 5e-4), 0, 3e-4, 2e-4),
                    on_gpu(point("powersgd", 2, 0, 5e-4), 4e-3, 3e-4, 2e-4), great};
  const auto of = [&](const char* spec) {
    const CodecProfile profile = recorded_codec(records, trace(), parse_spec(spec), "cuda");
    return profile.buckets.at(0);
  };
  EXPECT_EQ(of("topk").compress, 2e-3);
  EXPECT_EQ(of("topk").decode_message, 2e-3);
  EXPECT_EQ(of("topk").exchanges.at(0).copies, 3e-4);
  EXPECT_EQ(of("none").decode, 5e-4);
  EXPECT_EQ(of("none").exchanges.at(0).copies, 3e-4);
  EXPECT_EQ(of("3lc").exchanges.at(0).copies, 6e-4 / 4);
  ASSERT_EQ(of("powersgd").exchanges.size(), 2U);
  for (const ExchangeWork& one : of("powersgd").exchanges)
    EXPECT_DOUBLE_EQ(one.copies, (3e-4 + 2e-4) / 2);
  // Records of the CPU have no copies.
  const CodecProfile here = recorded_codec(records, trace(), parse_spec("topk"));
  EXPECT_EQ(here.buckets.at(0).compress, 3e-3);
  EXPECT_EQ(here.buckets.at(0).exchanges.at(0).copies, 0);
  EXPECT_THROW(recorded_codec(records, trace(), parse_spec("none")), InputError);
}

TEST(CodecRecords, RefusesWhatIsNotThere) {
  EXPECT_THROW(recorded_codec(records(), trace(), parse_spec("3lc")), InputError);
  Records other = records();
  other.headers[0].trace = document({{"identity", "sha256:0"}});
  EXPECT_THROW(recorded_codec(other, trace(), parse_spec("topk")), InputError);
}

Trace synthetic(const std::string& text) { return make_synthetic(parse_synthetic_spec(text)); }

TEST(ComputeDevice, IsTheCardThatTimesAreEstimatedFor) {
  const auto card = compute_device(synthetic("synthetic:model=resnet50"));
  ASSERT_TRUE(card);
  EXPECT_EQ(card->name, "NVIDIA V100-SXM2");
  EXPECT_EQ(card->memory_rate, 900e9);
  EXPECT_FALSE(compute_device(synthetic("synthetic:model=lenet5")));   // measured on a CPU
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
                             .exchanges = {{.operation = Exchange::kPushPull,
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

CodecProfile profile_of(const char* compressor, int ranks = 2, const char* collective = "ring") {
  static const Trace trace = open_trace("synthetic:model=lenet5,workers=2,steps=4");
  CodecCalibration calibration;
  calibration.ranks = ranks;
  calibration.at_once = ranks;
  calibration.seconds = 0;
  calibration.collective = parse_spec(collective);
  return measure_codec(trace, parse_spec(compressor), {}, calibration);
}

constexpr double kElements = 431080, kTensors = 8;  // of LeNet-5

TEST(CodecCalibration, OfTheDenseBaselineIsOneAllReduce) {
  const CodecProfile profile = profile_of("none");
  ASSERT_EQ(profile.buckets.size(), 1U);
  const ProfiledBucket& bucket = profile.buckets[0];
  EXPECT_EQ(bucket.tensors.size(), kTensors);
  ASSERT_EQ(bucket.exchanges.size(), 1U);
  EXPECT_EQ(bucket.exchanges[0].operation, Exchange::kAllReduce);
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
  EXPECT_EQ(profile.buckets[0].exchanges[0].operation, Exchange::kAllGather);
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
  EXPECT_EQ(exchanges[0].operation, Exchange::kSparseAllReduce);
  EXPECT_NEAR(exchanges[0].k, kElements / 100, kTensors);
  EXPECT_EQ(exchanges[0].mean(2), 8 * exchanges[0].k);
  // Without a target as many as are sent.
  const CodecProfile without = profile_of("threshold:tau=0", 2, "gtopk");
  const auto& sent = without.buckets.at(0).exchanges.at(0);
  EXPECT_GT(sent.k, kElements / 2);
  EXPECT_EQ(sent.mean(2), 8 * sent.k);
}

// Every tensor is a unit. The pulled payload is as long as the pushed payload, unless `pull` gives
// it another compressor and length.
TEST(CodecCalibration, OfParameterServersKnowsUnits) {
  const auto units_of = [](const char* compressor, const char* collective) {
    return profile_of(compressor, 2, collective).buckets.at(0).exchanges.at(0).units;
  };
  const auto same = units_of("fp16", "ps:servers=2");
  EXPECT_EQ(same.size(), kTensors + 1 + 24);  // of 25000 and 400000 elements in pieces of 16380
  double elements = 0;
  for (const UnitWork& unit : same) {
    elements += unit.elements;
    EXPECT_EQ(unit.push, 2 * unit.elements);
    EXPECT_EQ(unit.pull, 2 * unit.elements);
    EXPECT_GT(unit.decode, 0);
    EXPECT_GT(unit.compress, 0);
  }
  EXPECT_EQ(elements, kElements);
  for (const UnitWork& unit : units_of("3lc", "ps:pull=none")) {
    EXPECT_LT(unit.push, unit.elements);
    EXPECT_EQ(unit.pull, 4 * unit.elements);
  }
}

}  // namespace

}  // namespace thinpipe
