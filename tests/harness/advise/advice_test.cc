// Advice: the ranking, the recommended compressors, those that are left out, and the results of
// trainings, whose figures all stand in their recipe's page. The sample of a model's tensors, and
// profiles put together from it.
#include "harness/advise/advice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
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

// A machine of fixed message time, so that only codec times vary from run to run.
AdviceRequest request_of(const char* link, const std::vector<const char*>& compressors) {
  AdviceRequest request;
  request.sweep.baselines = {kUncompressed, parse_spec("bf16")};
  for (const char* compressor : compressors)
    request.sweep.compressors.emplace_back(parse_spec(compressor));
  request.sweep.links = {parse_link_spec(link)};
  request.sweep.ranks = {4};
  request.sweep.collectives = {parse_spec("ring"), parse_spec("twoshot")};
  request.sweep.trace = "synthetic:model=lenet5,steps=2";
  request.machines = {.network = {.message_time = 20e-6, .slower = 1}, .cores = 0};
  request.seconds = 600;  // everything is measured, however busy the machine is
  return request;
}

Advice advice_of(const AdviceRequest& request) {
  const Trace trace = open_gradients(request.sweep.trace);
  return advise(request, trace, [](double done, const std::string&) { EXPECT_LE(done, 1.0001); });
}

const SpecAdvice& spec_of(const Advice& advice, const std::string& compressor) {
  const auto found = std::ranges::find_if(advice.specs, [&](const SpecAdvice& one) {
    return one.point.compressor.to_string() == compressor;
  });
  EXPECT_NE(found, advice.specs.end()) << compressor;
  return *found;
}

// 1.7 MB at 1 Mbit/s take many seconds, so that no codec time of a busy machine changes the order.
TEST(Advice, OnASlowLinkFewerBytesAreFaster) {
  const Advice advice = advice_of(request_of("rate=1mbit", {"topk:ratio=0.01", "int8"}));
  ASSERT_EQ(advice.specs.size(), 4U);
  EXPECT_EQ(advice.specs[0].point.compressor.to_string(), "topk:ratio=0.01");
  EXPECT_EQ(advice.specs[3].point.compressor.to_string(), "none");
  EXPECT_EQ(advice.fastest(), &advice.specs[0]);
  for (std::size_t i = 1; i < advice.specs.size(); ++i)
    EXPECT_GE(advice.specs[i].step.prediction.step, advice.specs[i - 1].step.prediction.step);
  const SpecAdvice& topk = advice.specs[0];
  // The ring's all-reduce sends 2 * 3/4 * 4 bytes for each element. Top-k by two shots sends
  // 2 * 3/4 * 8/100 bytes: 50 times less, of which headers and the other work of a step take a
  // part.
  EXPECT_EQ(topk.point.collective.to_string(), "twoshot");
  EXPECT_GT(topk.step.over_none().value(), 25);
  EXPECT_LT(topk.step.over_none().value(), 51);
  EXPECT_GT(topk.error, 0.5);
  EXPECT_LT(topk.error, 1);
  EXPECT_NEAR(topk.estimation.value(), 1, 0.05);
  EXPECT_FALSE(topk.trainings.empty());
  EXPECT_EQ(spec_of(advice, "none").error, 0);
  EXPECT_FALSE(spec_of(advice, "none").estimation);
}

TEST(Advice, NamesTheFastestThatLosesLittle) {
  const AdviceRequest request = request_of("rate=1mbit", {"topk:ratio=0.01", "int8"});
  const Advice advice = advice_of(request);
  const SpecAdvice* faithful = advice.fastest_within(0.1);
  ASSERT_NE(faithful, nullptr);
  EXPECT_EQ(faithful->point.compressor.to_string(), "int8");
  EXPECT_LT(faithful->error, 0.1);
  EXPECT_EQ(advice.fastest_within(0), nullptr);
}

// The least error counts among steps within 2 %, if that step is 5 % faster than the baseline.
TEST(Advice, NamesACompressorThatJustPays) {
  Advice advice;
  for (const auto& [step, error] : {std::pair(94.8e-3, 0.95), {96e-3, 0.9}}) {
    SpecAdvice& spec = advice.specs.emplace_back();
    spec.point.compressor = parse_spec(error > 0.9 ? "topk" : "sbc");
    spec.step.prediction.step = step;
    spec.step.bf16 = 100e-3;
    spec.step.none = 200e-3;
    spec.error = error;
  }
  ASSERT_NE(advice.fastest(), nullptr);
  EXPECT_EQ(advice.fastest()->error, 0.95);
}

std::string text_of(const Advice& advice, const AdviceRequest& request) {
  return advice_text(advice, request, open_gradients(request.sweep.trace), {});
}

TEST(Advice, LinesCanBeTyped) {
  AdviceRequest request = request_of("rate=1mbit", {"topk:memory=ef21,ratio=0.01"});
  request.sweep.zero_non_finite = true;
  request.sweep.seed = 7;
  const Advice advice = advice_of(request);
  const std::string text = text_of(advice, request);
  EXPECT_NE(text.find("--non-finite zero --seed 7 --out out"), std::string::npos) << text;
  // The hook has no two shots for EF21.
  ASSERT_NE(advice.fastest(), nullptr);
  EXPECT_EQ(text.find("collective=\"twoshot\""), std::string::npos) << text;
}

// At 100 Gbit/s the exchange is hidden behind the backward pass.
TEST(Advice, OnAFastLinkNothingPays) {
  const Advice advice = advice_of(request_of("rate=100gbit", {"topk:ratio=0.01"}));
  EXPECT_EQ(advice.fastest(), nullptr);
}

TEST(Advice, HasEveryTensorInOneClass) {
  const Advice advice = advice_of(request_of("rate=10mbit", {"topk:ratio=0.01"}));
  ASSERT_EQ(advice.classes.size(), 2U);  // matrices and vectors; LeNet-5 has no embedding
  EXPECT_EQ(advice.classes[0].tensor_class, TensorClass::kMatrix);
  EXPECT_EQ(advice.classes[1].tensor_class, TensorClass::kVector);
  EXPECT_EQ(advice.classes[0].tensors + advice.classes[1].tensors, 8U);
  EXPECT_EQ(advice.classes[0].elements + advice.classes[1].elements, 431080);
  for (const ClassAdvice& one : advice.classes) {
    EXPECT_EQ(one.rows.size(), 3U);
    EXPECT_TRUE(std::ranges::is_sorted(one.rows, {}, &ClassAdvice::Row::seconds));
  }
}

// A ResNet-20's vectors have 1,386 of its 269,722 elements, and no matrix is smaller than 432.
TEST(Advice, LeavesNoTensorUncompressedThatCostsTime) {
  AdviceRequest request = request_of("rate=1mbit", {"int8"});
  request.sweep.trace = "synthetic:model=resnet20,steps=2";
  const Advice advice = advice_of(request);
  const Trace trace = open_gradients(request.sweep.trace);
  double below = 0;
  for (const TraceTensor& tensor : trace.tensors())
    if (tensor.elements < advice.min_elements) below += static_cast<double>(tensor.elements);
  EXPECT_EQ(advice.uncompressed_elements, below);
  // Uncompressed elements take 4 times as long as int8's. So less than 1 % in all is below 0.34 %
  // of the elements.
  EXPECT_LT(below, 0.0034 * static_cast<double>(trace.elements()));
}

TEST(Advice, LeavesOutWhatIsNotMeasuredInTime) {
  AdviceRequest request = request_of("rate=10mbit", {"topk:ratio=0.01"});
  request.seconds = 0;
  const Advice advice = advice_of(request);
  EXPECT_EQ(advice.specs.size(), 2U);  // the baselines
  ASSERT_EQ(advice.left_out.size(), 1U);
  EXPECT_EQ(advice.left_out[0].first, "topk:ratio=0.01");
}

TEST(Advice, RefusesWhatHasNoModel) {
  EXPECT_THROW(advice_of(request_of("rate=10mbit,loss=1%", {"topk:ratio=0.01"})), InputError);
}

// Returns whether the page has a table row with this name and a cell with this figure.
bool in_page(const std::string& recipe, const std::string& row, const std::string& figure) {
  const std::filesystem::path page =
      std::filesystem::path(THINPIPE_SOURCE_DIR) / "docs/results/reproduce" / (recipe + ".md");
  std::ifstream file(page);
  EXPECT_TRUE(file) << page;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| " + row + " |") && line.find("| " + figure + " |") != std::string::npos)
      return true;
  return false;
}

TEST(TrainingResults, AreThoseOfThePages) {
  for (const TrainingResult& result : training_results()) {
    EXPECT_TRUE(in_page(result.recipe, result.row, result.figure)) << to_string(result);
    EXPECT_TRUE(in_page(result.recipe, result.baseline_row, result.baseline_figure))
        << to_string(result);
  }
}

TEST(TrainingResults, AreFoundByAllParameters) {
  EXPECT_EQ(trainings_with(parse_spec("topk:ratio=0.01")).size(), 3U);
  EXPECT_EQ(trainings_with(parse_spec("topk:ratio=0.01,memory=residual")).size(), 3U);
  EXPECT_TRUE(trainings_with(parse_spec("topk:ratio=0.01,memory=none")).empty());
  EXPECT_EQ(to_string(trainings_with(parse_spec("powersgd:rank=4")).front()),
            "perplexity 8.68 (8.56 to 8.8), without compression 8.38 (8.29 to 8.47): character "
            "LSTM, 4 workers, SGD with momentum (recipe modern)");
}

TEST(TensorSample, EveryTensorHasOneOfItsClassThatStandsForIt) {
  const Trace trace = open_gradients(kModel);
  const TensorSample sample(trace);
  EXPECT_LT(sample.trace().tensors().size(), trace.tensors().size());
  EXPECT_LE(sample.trace().tensors().size(), 2 * TensorSample::kSizes);
  const std::vector<std::size_t> matrices = sample.tensors_of(TensorClass::kMatrix);
  for (std::size_t tensor = 0; tensor < trace.tensors().size(); ++tensor) {
    const auto& [sampled, scale] = sample.like(tensor);
    const TraceTensor& like = sample.trace().tensors().at(sampled);
    EXPECT_EQ(like.shape.size() > 1, std::ranges::count(matrices, tensor) == 1);
    EXPECT_DOUBLE_EQ(scale * static_cast<double>(like.elements),
                     static_cast<double>(trace.tensors()[tensor].elements));
  }
  EXPECT_EQ(matrices.size() + sample.tensors_of(TensorClass::kVector).size(),
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
  EXPECT_EQ(sample.tensors_of(TensorClass::kEmbedding), (std::vector<std::size_t>{0}));
  EXPECT_EQ(sample.tensors_of(TensorClass::kMatrix), (std::vector<std::size_t>{1}));
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
