// Steps whose buckets leave as they become ready: the same results, in the right order.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "tests/replay/replay_ranks.h"

namespace thinpipe {
namespace {

constexpr int kWorkers = 3;

class OverlapTest : public SampleTraceTest {
 protected:
  OverlapTest() : SampleTraceTest({.shapes = {{20, 25}, {20}, {300, 40}, {300}, {50, 60}}}) {}

  std::vector<RankSteps> run(const std::string& rules, const Bucketing& bucketing) {
    ReplayOptions options = replay_options(rules, bucketing);
    options.compute_works = compute_works_;
    return run_steps(trace_, options, kWorkers, 4);
  }

  void check(const std::string& rules, const Bucketing& bucketing) {
    SCOPED_TRACE(rules + " " + bucketing.to_string());
    expect_means(run(rules, bucketing));
  }

  bool compute_works_ = false;
};

TEST_F(OverlapTest, AggregatesAreTheMeanOfWhatWasSent) {
  Bucketing beside = overlapped();
  beside.codec_beside = true;
  for (const Bucketing& bucketing : {overlapped(), beside})
    for (const char* rules :
         {"none", "topk:ratio=0.1", "terngrad", "powersgd:rank=2", "sbc:p=0.01,delay=2",
          "fedavg:delay=2", "*-2:3lc;", "tensor-0:topk:ratio=0.5;tensor-2:powersgd;*:qsgd"})
      check(rules, bucketing);
}

TEST_F(OverlapTest, ComputePhasesMayUseCpuTime) {
  Bucketing beside = overlapped(), together;
  beside.codec_beside = true;
  for (const Bucketing& bucketing : {together, overlapped(), beside}) {
    compute_works_ = false;
    const std::vector<RankSteps> waited = run("topk:ratio=0.1", bucketing);
    compute_works_ = true;
    check("topk:ratio=0.1", bucketing);
    const std::vector<RankSteps> worked = run("topk:ratio=0.1", bucketing);
    EXPECT_EQ(worked[0].aggregates, waited[0].aggregates);
    for (const StepReport& report : worked[0].reports) {
      EXPECT_GE(report.compute, report.wanted);
      EXPECT_GE(report.total, report.compute);
      EXPECT_EQ(report.late, 0);
    }
  }
}

TEST_F(OverlapTest, UnitsMayBeBucketsOrTheModel) {
  for (const Granularity granularity : {Granularity::kBucket, Granularity::kModel})
    for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket}) {
      Bucketing bucketing = overlapped();
      bucketing.overlap = overlap;
      bucketing.granularity = granularity;
      bucketing.min_elements = 25;
      for (const char* rules : {"none", "topk:ratio=0.1", "3lc", "*-1:none;*:topk:ratio=0.1"})
        check(rules, bucketing);
    }
}

TEST_F(OverlapTest, LocalStepsAreAddedUp) {
  Bucketing bucketing = with_local_steps(2);
  for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket}) {
    bucketing.overlap = overlap;
    for (const char* rules : {"none", "topk:ratio=0.1", "terngrad"}) check(rules, bucketing);
    const std::vector<RankSteps> seen = run("none", bucketing);
    EXPECT_FALSE(seen[0].reports[0].exchanged);
    EXPECT_TRUE(seen[0].reports[1].exchanged);
    EXPECT_EQ(seen[0].aggregates[0], std::vector<float>(trace_.elements()));
    // The first element of the last tensor, which is first in the order of buckets.
    if (overlap != Overlap::kBucket) continue;
    float expected = 0;
    for (int rank = 0; rank < kWorkers; ++rank)
      for (std::uint64_t step = 0; step < 2; ++step) {
        const Replayed source = replayed(trace_, rank, step);
        expected += trace_.gradient(source.rank, source.step, 4)[0] / kWorkers;
      }
    EXPECT_NEAR(seen[0].aggregates[1][0], expected, 1e-5);
  }
  EXPECT_THROW(Replay(trace_, replay_options("variance", bucketing), 0, 1), InputError);
}

TEST_F(OverlapTest, TheOuterOptimiserTakesWhatWasExchanged) {
  for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket}) {
    ReplayOptions options;
    options.bucketing = overlapped();
    options.bucketing.overlap = overlap;
    options.bucketing.local_steps = 2;
    options.bucketing.outer = OuterOptions::parse("momentum=0.5,rate=2");
    LoneReplay replay(trace_, options);
    float velocity = 0;
    for (std::uint64_t step = 0; step < 6; ++step) {
      if (replay.loads()) replay.load(step);
      const float before = replay.update()[7];
      replay.step(step);
      if (step % 2 == 0) {
        EXPECT_EQ(replay.update()[7], before);  // nothing was exchanged
        continue;
      }
      const float x = replay.aggregate()[7];
      velocity = 0.5F * velocity + x;
      EXPECT_FLOAT_EQ(replay.update()[7], 2 * (x + 0.5F * velocity));
      EXPECT_NE(replay.update()[7], 0);
    }
  }
}

TEST_F(OverlapTest, ExchangesRunInOrderAndUnderTheRest) {
  for (const bool beside : {false, true}) {
    Bucketing bucketing = overlapped();
    bucketing.codec_beside = beside;
    for (const RankSteps& seen : run("topk:ratio=0.1", bucketing))
      for (const StepReport& report : seen.reports) {
        std::vector<std::size_t> order;
        double end = 0;
        for (const PhaseSpan& span : report.timeline) {
          EXPECT_LE(span.begin, span.end);
          EXPECT_LE(span.end, report.total + 1e-9);
          if (span.phase != Phase::kExchange) continue;
          EXPECT_GE(span.begin, end);
          end = span.end;
          order.push_back(span.bucket);
        }
        EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2}));
        EXPECT_EQ(report.selected, report.target);  // of all buckets, by an exact top-k
        EXPECT_GE(report.total, report.wanted);
        EXPECT_GE(report.exposed, 0);
        EXPECT_LE(report.exposed, report.total - report.wanted + 1e-9);
        EXPECT_NEAR(report.link_idle, report.total - time_in(report.timeline, Phase::kExchange),
                    1e-9);
        // A bucket is compressed when its gradients are ready, and leaves after that.
        int compressed = 0;
        for (const PhaseSpan& span : report.timeline)
          if (span.phase == Phase::kExchange)
            for (const PhaseSpan& other : report.timeline)
              if (other.phase == Phase::kCompress && other.bucket == span.bucket) {
                EXPECT_GE(span.begin, other.end - 1e-6);
                ++compressed;
              }
        EXPECT_GT(compressed, 0);
      }
  }
}

// The second of two units, tensor-3, is ready long before the first one's tensor-0.
TEST_F(OverlapTest, ABucketWaitsForTheLatestOfItsGradients) {
  Bucketing bucketing = overlapped("first=1mb,rest=1mb");
  bucketing.granularity = Granularity::kBucket;
  for (const RankSteps& seen : run("tensor-3:topk:ratio=0.1;*:none", bucketing))
    for (const StepReport& report : seen.reports) {
      int compressed = 0;
      for (const PhaseSpan& span : report.timeline)
        if (span.phase == Phase::kCompress) {
          EXPECT_GE(span.begin, report.wanted - 1e-6);
          ++compressed;
        }
      EXPECT_GT(compressed, 0);
    }
}

TEST_F(OverlapTest, HooksThatDoNothingSendNothing) {
  for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket}) {
    ReplayOptions options;
    options.bucketing = overlapped();
    options.bucketing.overlap = overlap;
    LoneReplay replay(trace_, options, kWorkers);
    const StepReport report = replay.step_without_exchange(0);
    EXPECT_GE(report.total, report.wanted);
    EXPECT_EQ(report.payload_bytes, 0U);
    EXPECT_EQ(replay.counters().messages, 0U);
  }
}

TEST_F(OverlapTest, FastMotionIsRefusedSinceCodecsWorkBesideExchanges) {
  ReplayOptions options;
  options.bucketing = overlapped();
  options.time_scale = 0.5;
  EXPECT_THROW(Replay(trace_, options, 0, 1), InputError);
}

TEST_F(OverlapTest, SumsOfDifferentDelaysCannotLeaveTogether) {
  const ReplayOptions options = replay_options("tensor-0:fedavg:delay=2;*:none");
  EXPECT_THROW(Replay(trace_, options, 0, 1), InputError);
}

}  // namespace
}  // namespace thinpipe
