// Jobs whose gradients are summed in 16 bits.

#include "workloads/replay/half_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "tests/replay/replay_ranks.h"
#include "workloads/collectives/flows.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

class HalfSumsTest : public SampleTraceTest {
 protected:
  HalfSumsTest() : SampleTraceTest({.ranks = 3, .compute_seconds = 0}) {}
};

// Ranks end with the results of the plan's own additions, to the bit, and near the mean.
TEST_F(HalfSumsTest, AggregatesAreThoseOfThePlan) {
  for (const Bucketing& bucketing : all_bucketings())
    for (const char* rules :
         {"fp16", "bf16", "fp16:predivide=false", "bf16:predivide=false",
          "fp16:memory=residual,delay=2", "tensor-0:bf16;tensor-1:fp16;tensor-2:topk:ratio=0.01",
          "tensor-0:bf16;tensor-1:bf16:predivide=false;tensor-2:powersgd:rank=2"}) {
      SCOPED_TRACE(rules + (" " + bucketing.to_string()));
      constexpr int kRanks = 3;
      std::vector<std::vector<float>> sent(kRanks), ended(kRanks);
      std::barrier all_are_here(kRanks);
      const auto run = [&](Replay& replay, int number) {
        const auto rank = static_cast<std::size_t>(number);
        for (std::uint64_t step = 0; step < 4; ++step) {
          replay.load(step);
          const bool exchanged = replay.step(step).exchanged;
          EXPECT_FALSE(replay.checks().takes_mean());
          EXPECT_EQ(replay.checks().rounded_sums().empty(), !exchanged);
          sent[rank].assign(replay.checks().contribution_size(), 0);
          replay.checks().own_contribution(sent[rank]);
          ended[rank].assign(replay.aggregate().begin(), replay.aggregate().end());
          all_are_here.arrive_and_wait();
          EXPECT_EQ(ended[rank], ended[0]);
          std::vector<float> expected(replay.checks().contribution_size());
          replay.checks().expected(std::vector<std::span<const float>>(sent.begin(), sent.end()),
                                   expected);
          for (const RoundedSum& sum : replay.checks().rounded_sums())
            for (std::size_t i = sum.begin; i < sum.begin + sum.size; ++i) {
              EXPECT_EQ(ended[rank][i], expected[i]) << i;
              double mean = 0, magnitudes = 0;
              for (const auto& one : sent) {
                mean += static_cast<double>(one[i]) / kRanks;
                magnitudes += std::fabs(static_cast<double>(one[i])) / kRanks;
              }
              // Three roundings of values that are no more than the sum of magnitudes.
              const double unit = sum.type == ElementType::kFloat16 ? 0x1p-11 : 0x1p-8;
              EXPECT_NEAR(static_cast<double>(ended[rank][i]), mean,
                          1.02 * kRanks * unit * magnitudes + 4 * 0x1p-25);
            }
          all_are_here.arrive_and_wait();
        }
      };
      on_all_ranks(trace_, replay_options(rules, bucketing), kRanks, run);
    }
}

TEST_F(HalfSumsTest, TwoBytesAnElementAreSummed) {
  on_all_ranks(trace_, replay_options("fp16"), 2, [](Replay& replay, int) {
    const StepReport report = replay.step(0);
    EXPECT_EQ(report.payload_bytes, 2 * replay.aggregate().size());
    EXPECT_EQ(report.summed_bytes, report.payload_bytes);
    EXPECT_LT(replay.checks().relative_error(0), 1e-3);
    EXPECT_GT(replay.checks().relative_error(0), 0);
  });
}

// A gradient beyond fp16's range, and sums that are, though no gradient is.
TEST_F(HalfSumsTest, OverflowIsAnErrorThatNamesTheUnit) {
  write_sample_trace(folder_ / "large", {.ranks = 3, .compute_seconds = 0, .scale = 3e4F});
  const Trace large(folder_ / "large");
  const auto error_of = [&](const std::string& rules, int ranks) {
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    on_all_ranks(large, replay_options(rules), ranks, [&](Replay& replay, int rank) {
      try {
        replay.step(0);
      } catch (const RunError& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
    for (const std::string& error : errors) EXPECT_EQ(error, errors[0]);
    return errors[0];
  };
  EXPECT_THAT(error_of("fp16", 1), HasSubstr("unit 'tensor-"));
  EXPECT_THAT(error_of("fp16", 1), HasSubstr("65504"));
  EXPECT_THAT(error_of("fp16", 1), HasSubstr("expected bf16, or smaller gradients"));
  EXPECT_EQ(error_of("bf16", 2), "");
}

TEST(HalfSums, WhatOverflowsOnTheWayIsFoundAtItsEnd) {
  PlannedBucket plan;
  for (const char* name : {"first", "second"})
    plan.units.push_back({{name, {4}, 4}, parse_spec("fp16:predivide=false"), {}});
  const SumGroup group{.summation = summation_of(plan.units[0].compressor),
                       .first = 0,
                       .last = 2,
                       .begin = 0,
                       .elements = 8};
  constexpr int kRanks = 4;
  on_all_ranks(kRanks, [&](ThreadTransport& transport) {
    RingCollective ring(std::make_unique<ThreadTransport>(transport), 0);
    HalfSums sums(plan, {group}, kRanks);
    ASSERT_EQ(sums.bytes(), 16U);
    // Three times 30000 is more than 65504, the greatest binary16 number, although the mean is not.
    // The fourth value is added together with the division.
    std::vector<std::uint16_t> own(8, to_half(1, HalfFormat::kFp16));
    own[5] = to_half(30000, HalfFormat::kFp16);
    std::vector<float> means(8);
    sums.prepare(std::as_bytes(std::span(own)));
    sums.exchange(ring);
    try {
      sums.decode(means);
      ADD_FAILURE() << "no error was reported";
    } catch (const RunError& error) {
      EXPECT_THAT(error.what(), HasSubstr("unit 'second': the sum of an element over all ranks"));
    }
    own[5] = to_half(20000, HalfFormat::kFp16);
    sums.prepare(std::as_bytes(std::span(own)));
    sums.exchange(ring);
    sums.decode(means);
    EXPECT_EQ(means[0], 1);
    EXPECT_NEAR(means[5], 20000, 16);
  });
}

}  // namespace
}  // namespace thinpipe
