#include "harness/predict/predictor.h"

#include <gtest/gtest.h>

#include <numeric>

#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

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
    bucket.exchanges.push_back({.exchange = exchange, .bytes = {bytes}});
    predictor_.know(parse_spec(name), {}, profile);
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

// The time that topk needs to encode is won back up to a higher rate over none than over bf16,
// which sends half the bytes.
TEST_F(PredictorTest, BreaksEvenWhereTheFasterBaselineDoes) {
  const CompressorRules none = parse_spec("none"), bf16 = parse_spec("bf16");
  EXPECT_GT(pays_below({none}), 1.5 * pays_below({bf16}));
  EXPECT_EQ(pays_below({none, bf16}), pays_below({bf16}));
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

// Pays to 1 Mbit/s and from 10 to 100 Mbit/s: the highest crossing counts.
TEST(PredictedBreakEven, OfSeveralIsTheHighest) {
  const auto found = predicted_break_even(
      [](double rate) { return rate < 1e6 || (rate > 1e7 && rate < 1e8) ? 1.0 : -1.0; });
  ASSERT_TRUE(found.rate);
  EXPECT_NEAR(*found.rate, 1e8, 1e5);
}

}  // namespace
}  // namespace thinpipe
