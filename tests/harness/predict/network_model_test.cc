// The network of a prediction: from links and topologies, and compared with records.
#include "harness/predict/network_model.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "harness/predict/basis.h"
#include "tests/base/document.h"
#include "tests/base/support.h"
#include "workloads/predict/exchange_time.h"

namespace thinpipe {
namespace {

constexpr LinkFigures kSet = {.alpha = 1e-3, .beta = 8e-8, .credit = 12500};

// 100 Mbit/s: 95.64 Mbit/s of payload, and an acknowledgement of 66 bytes every two frames of 1514;
// the bucket is 1 ms, 12500 bytes on the wire.
TEST(NetworkModel, OfAStar) {
  const LinkFigures figures =
      star_figures(parse_link_spec("rate=100mbit,delay=10ms"), {.message_time = 20e-6});
  EXPECT_NEAR(figures.alpha, 10.02e-3, 1e-12);
  EXPECT_NEAR(figures.beta, 8 / (100e6 * 1448 / 1514) * (1 + 66.0 / 3028), 1e-15);
  EXPECT_NEAR(figures.credit, 12500.0 * 1448 / 1514, 1e-6);
}

// From 64 KiB on the bucket lets GSO packets through whole, which one frame acknowledges.
TEST(NetworkModel, FastLinksHaveFewAcknowledgements) {
  EXPECT_EQ(acknowledgement_share(parse_link_spec("rate=1gbit")), 0);
  EXPECT_GT(acknowledgement_share(parse_link_spec("rate=1gbit,burst=16kb")), 0.02);
}

TEST(NetworkModel, TheSlowerDirectionDecides) {
  const LinkFigures figures = star_figures(parse_link_spec("up.rate=1gbit,down.rate=10mbit"), {});
  EXPECT_NEAR(figures.beta, 8 / (10e6 * 1448 / 1514) * (1 + 66.0 / 3028), 1e-13);
}

TEST(NetworkModel, MachinesMaySlowBytesDown) {
  const LinkSpec link = parse_link_spec("rate=1gbit");
  EXPECT_NEAR(star_figures(link, {.message_time = 0, .slower = 1.1}).beta,
              1.1 * star_figures(link, {}).beta, 1e-18);
}

// Two racks of two hosts: one flow of the ring crosses the trunk in each direction, so a trunk as
// fast as a host's link is no bottleneck, and one of a tenth of it is.
TEST(NetworkModel, ARingCrossesATrunkOnceEachWay) {
  const LinkSpec link = parse_link_spec("rate=1gbit");
  const LinkFigures star = star_figures(link, {});
  const auto racks = [&](const char* text) {
    return ring_figures(parse_topology(text), link, 4, {}).beta;
  };
  EXPECT_NEAR(racks("racks:racks=2,oversubscription=2"), star.beta, 1e-15);
  EXPECT_NEAR(racks("racks:racks=2,oversubscription=20"), 10 * star.beta, 0.03 * 10 * star.beta);
}

TEST(NetworkModel, AStarIsTheSameByEitherWay) {
  const LinkSpec link = parse_link_spec("rate=100mbit,delay=1ms");
  const LinkFigures one = star_figures(link, {.message_time = 1e-5});
  const LinkFigures other =
      network_figures(parse_topology("star").plan(4, link), ring_flows(4), {.message_time = 1e-5});
  EXPECT_NEAR(one.alpha, other.alpha, 1e-12);
  EXPECT_NEAR(one.beta, other.beta, 1e-18);
  EXPECT_NEAR(one.credit, other.credit, 1e-6);
}

// 0.05 s of 12.5 MB/s and four times the credit, in three messages.
TEST(LinkProbe, SendsSeveralTimesTheCredit) {
  EXPECT_EQ(probe_bytes(kSet, 4), static_cast<std::size_t>((0.05 / 8e-8 + 4 * 12500) / 3));
}

// Six messages of 1.2 ms take 7.2 ms on the rank that came last; the other ranks also waited for
// this rank. Links take the time that the model gives for a link 5 % slower than set.
TEST(LinkProbe, FindsWhatTheMachinesAdd) {
  const LinkFigures real = {.alpha = 1.2e-3, .beta = 1.05 * 8e-8, .credit = 12500};
  const double time = ring_all_gather_time(4, 200e3, real);
  const std::vector<std::vector<double>> small = {
      {8e-3, 7.2e-3, 9e-3}, {7.2e-3, 9e-3, 7.2e-3}, {8e-3, 8e-3, 8e-3}, {8e-3, 8e-3, 8e-3}};
  const std::vector<std::vector<double>> large(4, {3 * time, time, 2 * time});
  const MachineFigures found = machine_figures(small, large, 200000, kSet);
  EXPECT_NEAR(found.message_time, 0.2e-3, 1e-9);
  EXPECT_NEAR(found.slower, 1.05, 1e-6);
}

TEST(LinkProbe, OfOneRankIsNothing) {
  const MachineFigures found = machine_figures({{1e-3}}, {{1e-3}}, 1000, kSet);
  EXPECT_EQ(found.message_time, 0);
  EXPECT_EQ(found.slower, 1);
}

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
  input.collective = parse_spec("tree");
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
  point.axes.collective = "mixed-tree";
  point.axes.ranks = 4;
  nlohmann::json prediction = prediction_json(*predict(codec, by_tree(), times), codec);
  prediction["basis"] = basis_json(codec, by_tree());
  point.prediction = Document(std::move(prediction));
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
  EXPECT_NEAR(again[0].prediction->exposed, *records.points[0].prediction.number("exposed_time"),
              1e-12);
  EXPECT_EQ(again[0].measured, 0.2);
  EXPECT_NEAR(*again[0].ratio(), *again[0].recorded / 0.2, 1e-12);
}

TEST(PredictAgain, SaysWhatCannotBe) {
  Records records = one_point();
  records.points.push_back(records.points[0]);
  records.points[0].prediction = {};
  change(records.points[1].prediction, [](nlohmann::json& said) { said.erase("basis"); });
  const std::vector<PredictedAgain> again = predict_again(records);
  EXPECT_EQ(again[0].refusal, "not predicted during the run");
  EXPECT_EQ(again[1].refusal, "recorded without the basis of its prediction");
}

TEST(PredictAgain, NamesWhatIsWrong) {
  for (const char* missing : {"compute", "buckets", "pipeline"}) {
    Records records = one_point();
    change(records.points[0].prediction,
           [&](nlohmann::json& said) { said["basis"].erase(missing); });
    EXPECT_THROW(predict_again(records), InputError) << missing;
  }
  Records records = one_point();
  change(records.points[0].prediction,
         [](nlohmann::json& said) { said["basis"]["pipeline"] = "sideways"; });
  EXPECT_THROW(predict_again(records), InputError);
  change(records.points[0].prediction, [](nlohmann::json& said) { said["link"] = 3; });
  EXPECT_THROW(predict_again(records), InputError);
}

TEST(PredictAgain, NamesFileAndField) {
  const auto complaint = [](const char* key, const nlohmann::json& value) {
    Records records = one_point();
    records.file = "out/records.jsonl";
    records.points[0].id = "topk";
    change(records.points[0].prediction, [&](nlohmann::json& said) {
      nlohmann::json& bucket = said["basis"]["buckets"][1];
      (std::string(key) == "bytes" ? bucket["exchanges"][0] : bucket)[key] = value;
    });
    return input_error([&] { predict_again(records); });
  };
  EXPECT_EQ(complaint("decode", nlohmann::json::object()),
            "out/records.jsonl: point topk: prediction.basis.buckets[1].decode: expected a number "
            "from 0 to 1000000000, found an object of 0 members");
  EXPECT_EQ(complaint("compress", -1),
            "out/records.jsonl: point topk: prediction.basis.buckets[1].compress: expected a "
            "number from 0 to 1000000000, found -1");
  // A rank's bytes are those at its number modulo the number of entries.
  EXPECT_EQ(complaint("bytes", nlohmann::json::array()),
            "out/records.jsonl: point topk: prediction.basis.buckets[1].exchanges[0].bytes: "
            "expected the bytes of at least one rank");
}

}  // namespace

}  // namespace thinpipe
