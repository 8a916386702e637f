// Predicted times of exchanges and steps, and the rates up to which compression is faster.
#include "harness/predict/predictor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "harness/predict/prediction.h"
#include "workloads/predict/exchange_time.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

constexpr LinkFigures kTen = {.alpha = 1e-3, .beta = 1e-8, .credit = 100e3};
constexpr LinkFigures kLink = {.alpha = 1e-4, .beta = 1e-8, .credit = 0};

double seconds(const char* collective, Exchange exchange, double bytes, int ranks) {
  ExchangeTimes times;
  return exchange_cost(parse_spec(collective), {exchange, {bytes}}, {.ranks = ranks, .link = kTen},
                       times)
      ->seconds;
}

// Eight ranks, 4 MB: the load of the busiest port, and at most every step's message besides.
void expect_link_time(double seconds, double steps, double bytes) {
  const double busy = (bytes - 100e3) * 1e-8;
  EXPECT_GE(seconds, busy + 1e-3 - 1e-9);
  EXPECT_LE(seconds, busy + steps * (1e-3 + 32768 * 1e-8) + 1e-9);
}

TEST(CollectiveModel, TheBusiestPortDecides) {
  // Each sends the array in each of 3 steps.
  expect_link_time(seconds("recursive-doubling", Exchange::kAllReduce, 4e6, 8), 3, 12e6);
  // 3 steps of halves, and 3 in reverse: 7/8 of the array in each direction, as in a ring.
  expect_link_time(seconds("halving-doubling", Exchange::kAllReduce, 4e6, 8), 6, 7e6);
  // The root has 3 children, each of which sends it the array and receives it; 3 levels in each
  // direction.
  expect_link_time(seconds("tree", Exchange::kAllReduce, 4e6, 8), 12, 12e6);
  // Seven messages with their lengths come to every rank, in three steps.
  expect_link_time(seconds("recursive-doubling", Exchange::kAllGather, 1e6, 8), 3, 7e6);
}

// Each message is one segment. In a tree of two ranks the segment is passed on after all of it has
// arrived.
TEST(CollectiveModel, CountsHowAPipelineFills) {
  EXPECT_NEAR(seconds("tree", Exchange::kAllReduce, 32768, 2), 2e-3, 1e-9);
  ExchangeTimes times;
  const LinkFigures idle = {.alpha = 1e-3, .beta = 1e-6, .credit = 0};
  EXPECT_NEAR(exchange_cost(parse_spec("tree"), {Exchange::kAllReduce, {32768}},
                            {.ranks = 2, .link = idle}, times)
                  ->seconds,
              2 * (1e-3 + 32768e-6), 1e-9);
}

// More ranks than messages are followed for: steps and bytes.
TEST(CollectiveModel, OfAThousandRanksStepsAndBytesCount) {
  EXPECT_NEAR(seconds("halving-doubling", Exchange::kAllReduce, 4e6 * 1.024, 1024),
              20e-3 + (2 * 1023 / 1024.0 * 4.096e6 - 100e3) * 1e-8, 1e-4);
}

// 1000 workers each push 8 units of 4992 bytes, plus a head per message. Each of the two servers
// receives half of the units.
TEST(CollectiveModel, OfManyWorkersTheServersLinksDecide) {
  ExchangeWork exchange{.operation = Exchange::kPushPull, .bytes = {8 * 4992.0}};
  exchange.units.assign(8, {.elements = 1, .push = 4992, .pull = 992});
  ExchangeTimes times;
  const auto cost = [&](const ExchangeAmong& among) {
    return exchange_cost(parse_spec("ps:servers=2"), exchange, among, times)->seconds;
  };
  EXPECT_NEAR(cost({.ranks = 1000, .link = kTen}), 2e-3 + (4 * 5e6 - 100e3) * 1e-8, 1e-9);
  // Few of them are followed message by message; it comes to much the same.
  EXPECT_NEAR(cost({.ranks = 100, .link = kTen}) / (2e-3 + (4 * 5e5 - 100e3) * 1e-8), 1, 0.15);
}

// Ten times as fast links of the servers: a worker's own link decides. It pushes 8 units.
TEST(CollectiveModel, OfFastServersTheWorkersLinksDecide) {
  ExchangeWork exchange{.operation = Exchange::kPushPull, .bytes = {8e6}};
  exchange.units.assign(8, {.elements = 1, .push = 1e6 - 8, .pull = 992});
  ExchangeTimes times;
  LinkFigures fast = kTen;
  fast.beta /= 10000;
  const auto cost = exchange_cost(parse_spec("ps:servers=2"), exchange,
                                  {.ranks = 1000, .link = kTen, .servers = {fast, fast}}, times);
  EXPECT_NEAR(cost->seconds, 2e-3 + (8e6 - 100e3) * 1e-8, 1e-3);
}

TEST(CollectiveModel, SaysWhatItDoesNotKnow) {
  EXPECT_TRUE(has_model(parse_spec("ring")));
  EXPECT_TRUE(has_model(parse_spec("hierarchical:group=4")));
  EXPECT_TRUE(has_model(parse_spec("qgz:group=4")));
  EXPECT_FALSE(has_model(parse_spec("openmpi")));
}

CodecProfile gathered(double bytes) {
  CodecProfile codec;
  codec.compressor = "topk";
  codec.buckets = {{.tensors = {0},
                    .compress = 2e-3,
                    .decode = 0,
                    .decode_message = 1e-3,
                    .exchanges = {{Exchange::kAllGather, {bytes}}}}};
  return codec;
}

std::optional<Prediction> predicted(const CodecProfile& codec, const PredictionInput& input) {
  ExchangeTimes times;
  return predict(codec, input, times);
}

PredictionInput on_ring(int ranks) {
  PredictionInput input;
  input.ranks = ranks;
  input.collective = parse_spec("ring");
  input.link = kLink;
  input.times = {.compute = 10e-3, .ready = {5e-3}};
  return input;
}

// Compute takes 10 ms, encoding 2 ms, and decoding 1 ms for each of 4 messages. Three hops of 1 MB
// take 30 ms.
TEST(Prediction, AddsUpWithoutOverlap) {
  const auto prediction = predicted(gathered(1e6 - 8), on_ring(4));
  ASSERT_TRUE(prediction);
  EXPECT_NEAR(prediction->exchange, 30e-3 + 1e-4, 1e-9);
  EXPECT_NEAR(prediction->step, 10e-3 + 2e-3 + 30.1e-3 + 4e-3, 1e-9);
}

// Eight ranks on two cores: each gets a quarter of one.
TEST(Prediction, CodecsShareCores) {
  PredictionInput input = on_ring(8);
  input.cores = 2;
  const auto prediction = predicted(gathered(1000), input);
  ASSERT_TRUE(prediction);
  EXPECT_NEAR(prediction->compress, 8e-3, 1e-12);
  EXPECT_NEAR(prediction->decode, 4 * 8e-3, 1e-12);
}

// The gradient is ready at 5 ms, encoded until 7 ms, on the network until 37.1 ms and decoded until
// 41.1 ms. Compute stands still for the 2 ms of encoding and ends at 12 ms.
TEST(Prediction, OverlapsWhatItCan) {
  PredictionInput input = on_ring(4);
  input.kind = PipelineKind::kInline;
  const auto prediction = predicted(gathered(1e6 - 8), input);
  ASSERT_TRUE(prediction);
  EXPECT_NEAR(prediction->step, 41.1e-3, 1e-9);
  EXPECT_NEAR(prediction->exposed, 25.1e-3, 1e-9);
}

// Every third step exchanges; in the two others 0.5 ms go into holding back.
TEST(Prediction, OfADelayedMethodIsItsMeanStep) {
  CodecProfile codec = gathered(1e6 - 8);
  codec.period = 3;
  codec.hold = 0.5e-3;
  const auto prediction = predicted(codec, on_ring(4));
  ASSERT_TRUE(prediction);
  EXPECT_NEAR(prediction->step, (46.1e-3 + 2 * 10.5e-3) / 3, 1e-9);
  EXPECT_NEAR(prediction->compress, (2e-3 + 2 * 0.5e-3) / 3, 1e-9);
  EXPECT_NEAR(prediction->exchange, 30.1e-3 / 3, 1e-9);
  EXPECT_NEAR(prediction->decode, 4e-3 / 3, 1e-9);
  EXPECT_NEAR(prediction->exposed, 30.1e-3 / 3, 1e-9);
}

// The second of two all-reduces starts with the tokens that the first all-reduce left in the token
// bucket, plus the tokens that the link saved up meanwhile.
TEST(Prediction, TheCreditIsThereOnce) {
  CodecProfile codec;
  codec.buckets = {{.tensors = {0},
                    .exchanges = {{Exchange::kAllReduce, {1e6}}, {Exchange::kAllReduce, {1e6}}}}};
  PredictionInput input = on_ring(2);
  input.link = {.alpha = 0, .beta = 1e-8, .credit = 500e3};
  // 1 MB a link and round: (1 - 0.5) MB, then 1 MB with nothing saved.
  EXPECT_NEAR(predicted(codec, input)->exchange, 15e-3, 1e-9);
}

// 2000 workers push 1000 bytes each to a server whose bucket holds 500 kB: (2 - 0.5) MB at 10 ns a
// byte, and for the next bucket of gradients 2 MB with nothing saved.
TEST(Prediction, TheCreditOfServersIsThereOnce) {
  const ExchangeWork exchange{.operation = Exchange::kPushPull,
                              .bytes = {992},
                              .units = {{.elements = 1, .push = 992, .pull = 492}}};
  CodecProfile codec;
  codec.buckets = {{.tensors = {0}, .exchanges = {exchange}},
                   {.tensors = {1}, .exchanges = {exchange}}};
  PredictionInput input = on_ring(2000);
  input.collective = parse_spec("ps");
  input.link = {.alpha = 0, .beta = 1e-8, .credit = 0};
  input.servers = {{.alpha = 0, .beta = 1e-8, .credit = 500e3}};
  EXPECT_NEAR(predicted(codec, input)->exchange, 15e-3 + 20e-3, 1e-9);
}

// 1 MB takes 10 ms on a link whose bucket holds twice as much. The bucket refills in a step of 20
// ms.
TEST(Prediction, AStepIsNotShorterThanItsBytesTakeOnTheLink) {
  CodecProfile codec;
  codec.buckets = {{.tensors = {0}, .exchanges = {{Exchange::kAllReduce, {1e6}}}}};
  PredictionInput input = on_ring(2);
  input.times = {};
  input.link = {.alpha = 0, .beta = 1e-8, .credit = 2e6};
  EXPECT_NEAR(predicted(codec, input)->step, 10e-3, 1e-9);
  EXPECT_NEAR(predicted(codec, input)->exposed, 10e-3, 1e-9);
  input.times.compute = 20e-3;
  EXPECT_NEAR(predicted(codec, input)->step, 20e-3, 1e-9);
  EXPECT_NEAR(predicted(codec, input)->exposed, 0, 1e-9);
}

// 1 MB is sent at 10 ns a byte, after copies of half a millisecond. During the copies the link
// saves up tokens for 50 kB.
TEST(Prediction, CopiesOfADeviceAreWaitedFor) {
  CodecProfile codec;
  codec.buckets = {{.tensors = {0}, .exchanges = {{Exchange::kAllReduce, {1e6}}}}};
  PredictionInput input = on_ring(2);
  input.link = {.alpha = 0, .beta = 1e-8, .credit = 0};
  const double without = predicted(codec, input)->exchange;
  codec.buckets[0].exchanges[0].copies = 5e-4;
  EXPECT_NEAR(without, 10e-3, 1e-9);
  EXPECT_NEAR(predicted(codec, input)->exchange, 10.5e-3, 1e-9);
  EXPECT_NEAR(predicted(codec, input)->step - predicted(codec, input)->exchange,
              input.times.compute, 1e-9);
}

// The busiest link carries all messages but the smallest.
TEST(Prediction, UnequalMessagesAreTakenAsTheyAre) {
  CodecProfile codec = gathered(0);
  codec.buckets[0].exchanges[0].bytes = {3e6 - 8, 1e6 - 8, 2e6 - 8};
  PredictionInput input = on_ring(3);
  input.link.alpha = 0;
  EXPECT_NEAR(predicted(codec, input)->exchange, 50e-3, 1e-9);
}

// Two ranks send 1 MB each to the root, 500 kB ahead of its answers: more than its queue.
TEST(Prediction, NamesAQueueThatWouldOverflow) {
  CodecProfile codec;
  codec.buckets = {{.tensors = {0}, .exchanges = {{Exchange::kAllReduce, {1e6}}}}};
  PredictionInput input = on_ring(4);
  input.collective = parse_spec("tree");
  EXPECT_FALSE(predicted(codec, input)->incast);  // no limit is known
  input.queue = 262144;
  EXPECT_TRUE(predicted(codec, input)->incast);
  input.queue = 1e6;
  EXPECT_FALSE(predicted(codec, input)->incast);
  input.queue = 262144;
  input.collective = parse_spec("ring");
  EXPECT_FALSE(predicted(codec, input)->incast);
}

TEST(Prediction, SaysWhenThereIsNoModel) {
  PredictionInput input = on_ring(4);
  input.collective = parse_spec("openmpi");
  EXPECT_FALSE(predicted(gathered(10), input));
}

const double kBytes = 4.0 * 431080;  // of LeNet-5's gradient

class PredictorTest : public ::testing::Test {
 protected:
  PredictorTest() {
    know("none", Exchange::kAllReduce, kBytes, 0);
    know("bf16", Exchange::kAllReduce, kBytes / 2, 0);
    know("topk", Exchange::kAllGather, kBytes / 50, 0.002);
    point_.link = parse_link_spec("rate=100mbit");
    point_.ranks = 4;
    point_.compressor = parse_spec("topk");
  }

  void know(const char* name, Exchange exchange, double bytes, double compress) {
    CodecProfile profile;
    profile.compressor = name;
    profile.elements = kBytes / 4;
    profile.payload_bytes = bytes;
    ProfiledBucket& bucket = profile.buckets.emplace_back();
    bucket.tensors.resize(trace_.tensors().size());
    std::iota(bucket.tensors.begin(), bucket.tensors.end(), std::size_t{0});
    bucket.compress = compress;
    bucket.exchanges.push_back({.operation = exchange, .bytes = {bytes}});
    predictor_.know(parse_spec(name), {}, parse_spec("ring"), profile);
  }

  double pays_below(const std::vector<CompressorRules>& baselines) {
    return predictor_.break_even(point_, machines_, baselines).rate.value();
  }

  Trace trace_ = make_synthetic(parse_synthetic_spec("synthetic:model=lenet5"));
  SweepOptions options_;
  Predictor predictor_{trace_, options_};
  PredictedMachines machines_;
  SweepPoint point_;
};

// topk's encoding time pays off up to a higher rate when the baseline is none than when it is bf16,
// because bf16's payload is half as long.
TEST_F(PredictorTest, BreaksEvenWhereTheFasterBaselineDoes) {
  const CompressorRules none = parse_spec("none"), bf16 = parse_spec("bf16");
  EXPECT_GT(pays_below({none}), 1.5 * pays_below({bf16}));
  EXPECT_EQ(pays_below({none, bf16}), pays_below({bf16}));
}

// 5 % fewer bytes than `none`, and a codec that is faster by noise alone.
TEST_F(PredictorTest, FindsNoBreakEvenOfACompressorThatSendsNearlyAllBytes) {
  know("none", Exchange::kAllReduce, kBytes, 1e-4);
  know("topk", Exchange::kAllReduce, 0.96 * kBytes, 0);
  const auto found = predictor_.break_even(point_, machines_, {parse_spec("none")});
  EXPECT_FALSE(found.rate || found.pays_at_least || found.pays_at_most);
  EXPECT_EQ(found.reason(), "it sends 96 % of the uncompressed bytes");
  EXPECT_EQ(break_even_json(found).at("reason").get<std::string>(), found.reason());
}

TEST_F(PredictorTest, RefusesTopologiesWithoutAModel) {
  const auto why = [&](const char* topology, const char* collective) {
    options_.topology = parse_topology(topology);
    point_.collective = parse_spec(collective);
    return predictor_.refusal(point_);
  };
  EXPECT_EQ(why("racks", "ring"), "");
  EXPECT_EQ(why("racks:uplink=(rate=1gbit,loss=1%)", "ring"),
            "no model of lost or reordered frames");
  EXPECT_EQ(why("ps", "ps"), "");
  EXPECT_EQ(why("ps:host1=(rate=10mbit)", "ps"), "no model of workers with different links");
}

TEST_F(PredictorTest, HasNoModelOfFragments) {
  point_.bucketing.local_steps = 4;
  EXPECT_EQ(predictor_.refusal(point_), "");
  point_.bucketing.fragments = 2;
  EXPECT_EQ(predictor_.refusal(point_), "no model of fragments");
}

// The collective quantises what it sums.
TEST_F(PredictorTest, NoBaselineIsSummedByQgz) {
  point_.collective = parse_spec("qgz");
  EXPECT_EQ(with_baseline(point_, parse_spec("none")).collective.name, "ring");
  point_.collective = parse_spec("tree");
  EXPECT_EQ(with_baseline(point_, parse_spec("none")).collective.name, "tree");
}

// Both push and pull, but two shots cut a unit into slices.
TEST_F(PredictorTest, SlicesAndUnitsHaveProfilesOfTheirOwn) {
  options_.ranks = {2};
  CodecProfile slices;
  slices.source = "slices";
  predictor_.know(parse_spec("int8"), {}, parse_spec("twoshot"), slices);
  EXPECT_EQ(predictor_.codec(parse_spec("int8"), {}, parse_spec("twoshot")).source, "slices");
  EXPECT_NE(predictor_.codec(parse_spec("int8"), {}, parse_spec("ps")).source, "slices");
}

// Saves 0.1 Gbit of transfer for 50 ms of codec: even at 2 Gbit/s.
TEST(PredictedBreakEven, IsWhereTheGainIsNothing) {
  const auto found = predicted_break_even([](double rate) { return 0.1e9 / rate - 0.05; });
  ASSERT_TRUE(found.rate);
  EXPECT_NEAR(*found.rate, 2e9, 2e6);
  EXPECT_TRUE(found.pays_at_least);
  EXPECT_FALSE(found.pays_at_most);
}

TEST(PredictedBreakEven, MayNotExist) {
  EXPECT_FALSE(predicted_break_even([](double) { return 1.0; }).rate);
  EXPECT_FALSE(predicted_break_even([](double) { return -1.0; }).rate);
  const auto rising = predicted_break_even([](double rate) { return rate - 1e9; });
  EXPECT_FALSE(rising.rate);
  EXPECT_TRUE(rising.pays_at_most);
}

// Faster up to 1 Mbit/s and from 10 to 100 Mbit/s: the highest crossing counts.
TEST(PredictedBreakEven, OfSeveralIsTheHighest) {
  const auto found = predicted_break_even(
      [](double rate) { return rate < 1e6 || (rate > 1e7 && rate < 1e8) ? 1.0 : -1.0; });
  ASSERT_TRUE(found.rate);
  EXPECT_NEAR(*found.rate, 1e8, 1e5);
}

}  // namespace

}  // namespace thinpipe
