// The sample of a model's tensors, and profiles put together from it.
#include "harness/advise/tensor_profiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "harness/advise/tensor_sample.h"
#include "harness/predict/codec_calibration.h"
#include "tests/base/support.h"
#include "workloads/replay/plan.h"
#include "workloads/synthetic/synthetic.h"
#include "workloads/trace/trace_format.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {
namespace {

const char* const kModel = "synthetic:model=resnet20,steps=2";

TEST(TensorSample, EveryTensorHasOneOfItsClassThatStandsForIt) {
  const Trace trace = open_gradients(kModel);
  const TensorSample sample(trace);
  EXPECT_LT(sample.trace().tensors().size(), trace.tensors().size());
  EXPECT_LE(sample.trace().tensors().size(), 2 * TensorSample::kSizes);
  for (std::size_t tensor = 0; tensor < trace.tensors().size(); ++tensor) {
    const auto& [sampled, scale] = sample.like(tensor);
    const TraceTensor& like = sample.trace().tensors().at(sampled);
    EXPECT_EQ(like.shape.size() > 1, sample.class_of(tensor) == TensorClass::kMatrix);
    EXPECT_DOUBLE_EQ(scale * static_cast<double>(like.elements),
                     static_cast<double>(trace.tensors()[tensor].elements));
  }
  EXPECT_EQ(sample.tensors_of(TensorClass::kMatrix).size() +
                sample.tensors_of(TensorClass::kVector).size(),
            trace.tensors().size());
}

// VGG-19's first dense layer has 103 million elements.
TEST(TensorSample, CutsLargeTensors) {
  const Trace trace = open_gradients("synthetic:model=vgg19,steps=1");
  const TensorSample sample(trace);
  for (const TraceTensor& tensor : sample.trace().tensors()) {
    EXPECT_LE(tensor.elements, TensorSample::kMaxElements);
    EXPECT_EQ(static_cast<std::int64_t>(tensor.elements),
              std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                              std::multiplies<>()));
  }
}

TEST(TensorSample, AMatrixOfMostlyZerosIsAnEmbedding) {
  const TemporaryFolder folder;
  TraceDescription description{"words", kOriginSynthetic, {}, 1, false, {}};
  for (const char* name : {"embedding", "dense"})
    description.tensors.push_back({name, {8, 4}, 32, description.tensors.size()});
  std::vector<float> embedding(32), dense(32, 1.0F);
  std::fill_n(embedding.begin(), 16, 2.0F);  // half of the rows
  const TraceStepTimes times{.forward = 0, .backward = 0, .ready = {0, 0}, .loss = 1};
  TraceWriter writer(folder / "trace", description);
  writer.add(0, 0, times, std::vector<std::span<const float>>{embedding, dense});
  writer.finish();
  const Trace trace(folder / "trace");
  const TensorSample sample(trace);
  EXPECT_EQ(sample.class_of(0), TensorClass::kEmbedding);
  EXPECT_EQ(sample.class_of(1), TensorClass::kMatrix);
  // Equal sizes: only the class tells which of the two stands for a tensor.
  EXPECT_EQ(sample.like(0).sampled, 0U);
  EXPECT_EQ(sample.like(1).sampled, 1U);
}

// A payload's size is the same for each element of `none`, so the whole is exact.
TEST(TensorProfiles, PayloadsOfAllTensorsComeToThoseOfTheModel) {
  const Trace trace = open_gradients(kModel);
  const TensorSample sample(trace);
  const Spec ring = parse_spec("ring");
  const CodecProfile profile =
      profile_by_tensor(sample, trace, parse_spec("none"), ring, SweepOptions(), 0.01);
  ASSERT_EQ(profile.buckets.size(), trace.tensors().size());
  EXPECT_NEAR(profile.payload_bytes, 4.0 * static_cast<double>(trace.elements()), 1);
  const auto groups = bucket_tensors(trace.tensors(), {});
  const CodecProfile joined = joined_profile(profile, groups);
  EXPECT_EQ(joined.buckets.size(), groups.size());
  EXPECT_NEAR(joined.payload_bytes, profile.payload_bytes, 1);
  double by_tensor = 0, by_group = 0;
  for (const ProfiledBucket& bucket : profile.buckets) by_tensor += bucket.compress;
  for (const ProfiledBucket& bucket : joined.buckets) by_group += bucket.compress;
  EXPECT_NEAR(by_group, by_tensor, 1e-12);
}

// PowerSGD sends rank * (rows + columns) floats, which do not grow with the elements.
TEST(TensorProfiles, PayloadsOfMatricesAreThoseOfTheirSides) {
  const Trace trace = open_gradients("synthetic:model=vgg16,steps=1");
  const TensorSample sample(trace);
  const CodecProfile profile = profile_by_tensor(sample, trace, parse_spec("powersgd:rank=4"),
                                                 parse_spec("ring"), SweepOptions(), 0.01);
  const auto largest = std::ranges::max_element(trace.tensors(), {}, &TraceTensor::elements);
  const auto rows = static_cast<double>(largest->shape[0]);
  const double floats = 4 * (rows + static_cast<double>(largest->elements) / rows);
  double bytes = 0;
  for (const ExchangeWork& exchange :
       profile.buckets.at(static_cast<std::size_t>(largest - trace.tensors().begin())).exchanges)
    bytes += exchange.mean(1);
  EXPECT_NEAR(bytes / (4 * floats), 1, 1e-6);
}

// The bytes of a profile from the sample against those of a calibration on the whole model.
TEST(TensorProfiles, AgreeWithACalibrationOnAllTensors) {
  const Trace trace = open_gradients(kModel);
  const TensorSample sample(trace);
  for (const char* collective : {"ring", "twoshot"})
    for (const char* compressor : {"topk:ratio=0.01", "int8", "bf16"}) {
      const CodecProfile sampled =
          joined_profile(profile_by_tensor(sample, trace, parse_spec(compressor),
                                           parse_spec(collective), SweepOptions(), 0.01),
                         bucket_tensors(trace.tensors(), {}));
      CodecCalibration calibration;
      calibration.bucketing.overlap = Overlap::kBucket;
      calibration.collective = parse_spec(collective);
      calibration.seconds = 0.01;
      const CodecProfile whole =
          measure_codec(trace, parse_spec(compressor), SweepOptions(), calibration);
      ASSERT_EQ(sampled.buckets.size(), whole.buckets.size());
      for (std::size_t i = 0; i < whole.buckets.size(); ++i) {
        const auto& mine = sampled.buckets[i].exchanges;
        const auto& its = whole.buckets[i].exchanges;
        ASSERT_EQ(mine.size(), its.size()) << compressor << " " << collective;
        for (std::size_t j = 0; j < its.size(); ++j) {
          EXPECT_EQ(mine[j].operation, its[j].operation);
          // Every payload is 8 % longer or shorter at most: its header's share depends on its size.
          EXPECT_NEAR(mine[j].mean(1) / its[j].mean(1), 1, 0.08) << compressor << " " << collective;
          EXPECT_EQ(mine[j].units.size(), its[j].units.size());
        }
      }
    }
}

TEST(TensorProfiles, ExchangesOfOneOperationGoTogether) {
  ProfiledBucket gathered, summed;
  gathered.tensors = {0};
  gathered.exchanges = {{.operation = Exchange::kAllGather, .bytes = {10, 12}}};
  summed.tensors = {1};
  summed.compress = 2;
  summed.exchanges = {{.operation = Exchange::kAllReduce, .bytes = {4}},
                      {.operation = Exchange::kAllReduce, .bytes = {6}}};
  CodecProfile sums, mixed;
  sums.buckets = {summed, summed};
  mixed.buckets = {gathered, gathered};
  mixed = with_tensors_of(mixed, sums, {1});
  const CodecProfile joined = joined_profile(mixed, {{0, 1}});
  ASSERT_EQ(joined.buckets.size(), 1U);
  EXPECT_EQ(joined.buckets[0].compress, 2);
  ASSERT_EQ(joined.buckets[0].exchanges.size(), 3U);  // a gather and two rounds of sums
  EXPECT_EQ(joined.payload_bytes, 10 + 4 + 6);
  const CodecProfile twice = joined_profile(sums, {{0, 1}});
  ASSERT_EQ(twice.buckets[0].exchanges.size(), 2U);
  EXPECT_EQ(twice.buckets[0].exchanges[1].bytes, std::vector<double>{12});
}

}  // namespace
}  // namespace thinpipe
