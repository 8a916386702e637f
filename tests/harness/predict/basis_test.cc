#include "harness/predict/basis.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace thinpipe {
namespace {

// Two buckets, beside the backward pass.
CodecProfile two_buckets() {
  CodecProfile codec;
  codec.payload_bytes = 5e5;
  codec.elements = 1e6;
  codec.buckets = {{.tensors = {1},
                    .compress = 2e-3,
                    .decode_message = 1e-3,
                    .exchanges = {{Exchange::kAllGather, {4e5, 6e5}}}},
                   {.tensors = {0}, .exchanges = {{Exchange::kAllReduce, {1e6}}}}};
  codec.buckets[1].exchanges[0].copies = 2e-3;
  return codec;
}

PredictionInput by_tree() {
  PredictionInput input;
  input.ranks = 4;
  input.pattern = parse_spec("tree");
  input.link = {.alpha = 1e-4, .beta = 1e-8, .credit = 1000};
  input.times = {.compute = 50e-3, .ready = {40e-3, 20e-3}};
  input.kind = PipelineKind::kBeside;
  input.cores = 2;
  return input;
}

Records one_point() {
  ExchangeTimes times;
  const CodecProfile codec = two_buckets();
  Point point;
  point.axes.compressor = "topk";
  point.axes.pattern = "mixed-tree";
  point.axes.ranks = 4;
  point.prediction = prediction_json(*predict(codec, by_tree(), times), codec);
  point.prediction["basis"] = basis_json(codec, by_tree());
  point.metrics["step_time"].samples = {0.1, 0.3, 0.2};
  Records records;
  records.points = {point};
  return records;
}

TEST(PredictAgain, GivesTheSameFromWhatWasRecorded) {
  const Records records = one_point();
  const std::vector<PredictedAgain> again = predict_again(records);
  ASSERT_EQ(again.size(), 1U);
  ASSERT_TRUE(again[0].prediction) << again[0].refusal;
  EXPECT_NEAR(again[0].prediction->step, *again[0].recorded, 1e-12);
  EXPECT_NEAR(again[0].prediction->exposed, records.points[0].prediction["exposed_time"], 1e-12);
  EXPECT_EQ(again[0].measured, 0.2);
  EXPECT_NEAR(*again[0].ratio(), *again[0].recorded / 0.2, 1e-12);
}

TEST(PredictAgain, SaysWhatCannotBe) {
  Records records = one_point();
  records.points.push_back(records.points[0]);
  records.points[0].prediction = nlohmann::json::object();
  records.points[1].prediction.erase("basis");
  const std::vector<PredictedAgain> again = predict_again(records);
  EXPECT_EQ(again[0].refusal, "not predicted when it ran");
  EXPECT_EQ(again[1].refusal, "recorded without what it was predicted from");
}

TEST(PredictAgain, NamesWhatIsWrong) {
  for (const char* missing : {"compute", "buckets", "pipeline"}) {
    Records records = one_point();
    records.points[0].prediction["basis"].erase(missing);
    EXPECT_THROW(predict_again(records), InputError) << missing;
  }
  Records records = one_point();
  records.points[0].prediction["basis"]["pipeline"] = "sideways";
  EXPECT_THROW(predict_again(records), InputError);
  records.points[0].prediction["link"] = 3;
  EXPECT_THROW(predict_again(records), InputError);
}

TEST(PredictAgain, NamesFileAndField) {
  const auto complaint = [](const char* key, const nlohmann::json& value) -> std::string {
    Records records = one_point();
    records.file = "out/records.jsonl";
    records.points[0].id = "topk";
    nlohmann::json& bucket = records.points[0].prediction["basis"]["buckets"][1];
    (std::string(key) == "bytes" ? bucket["exchanges"][0] : bucket)[key] = value;
    try {
      predict_again(records);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(complaint("decode", nlohmann::json::object()),
            "out/records.jsonl: point topk: prediction.basis.buckets[1].decode: expected a number "
            "from 0 to 1000000000, found an object of 0 members");
  EXPECT_EQ(complaint("compress", -1),
            "out/records.jsonl: point topk: prediction.basis.buckets[1].compress: expected a "
            "number from 0 to 1000000000, found -1");
  // A rank's bytes are taken at its number modulo how many there are.
  EXPECT_EQ(complaint("bytes", nlohmann::json::array()),
            "out/records.jsonl: point topk: prediction.basis.buckets[1].exchanges[0].bytes: "
            "expected the bytes of at least one rank");
}

}  // namespace
}  // namespace thinpipe
