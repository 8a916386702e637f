// Steps in slow and fast motion: what waits for what, by relations that hold however slow a
// machine.

#include "workloads/replay/pace.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tests/exchange/thread_transport.h"
#include "tests/trace/sample_trace.h"
#include "tests/trace/temporary_folder.h"
#include "workloads/exchange/flows.h"
#include "workloads/replay/replay.h"

namespace thinpipe {
namespace {

// Uses the processor until it has used so much of it.
void work(double seconds) {
  const double end = now_seconds(CLOCK_THREAD_CPUTIME_ID) + seconds;
  while (now_seconds(CLOCK_THREAD_CPUTIME_ID) < end) {
  }
}

TEST(Pace, StretchesWorkByTheFactorAndCountsItAtItsOwnSpeed) {
  Pace pace(3, 1);
  const double begin = now_seconds();
  pace.begin();
  work(0.002);
  pace.end();
  EXPECT_GE(now_seconds() - begin, 3 * pace.own());
  EXPECT_GE(pace.own(), 0.002);
  EXPECT_GE(pace.overrun(), 0);
  pace.reset();
  EXPECT_EQ(pace.own(), 0);
}

// By the factor the second piece would last 0.2 s: it is over long before, for the first one lasted
// 0.4 s too long.
TEST(Pace, PiecesMakeUpForThoseThatLastedTooLong) {
  Pace pace(100, 1);
  pace.begin();
  work(0.001);
  wait_until(now_seconds() + 0.5);
  pace.end();
  const double late = pace.overrun();
  EXPECT_GE(late, 0.5 - 100 * pace.own());
  const double begin = now_seconds();
  pace.begin();
  work(0.002);
  pace.end();
  EXPECT_LT(now_seconds() - begin, 0.2);
  EXPECT_LT(pace.overrun(), late);
  pace.reset();
  EXPECT_EQ(pace.overrun(), 0);
}

TEST(Pace, WaitingIsNotWork) {
  Pace pace(1, 1);
  pace.begin();
  wait_until(now_seconds() + 0.02);
  pace.end();
  EXPECT_LT(pace.own(), 0.02);
  EXPECT_EQ(pace.overrun(), 0);
}

TEST(Timeline, CountsWhatOverlapsOnce) {
  const Timeline timeline = {{Phase::kExchange, 0, 1, 3},
                             {Phase::kExchange, 1, 2, 5},
                             {Phase::kCompute, 0, 0, 9},
                             {Phase::kExchange, 2, 2.5, 4},
                             {Phase::kExchange, 3, 7, 7.5}};
  EXPECT_DOUBLE_EQ(time_in(timeline, Phase::kExchange), 4.5);
  EXPECT_DOUBLE_EQ(time_in(timeline, Phase::kDecode), 0);
}

class TimeScaleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SampleTrace what;
    what.ranks = 2;
    what.steps = 3;
    what.compute_seconds = 0.004;
    write_sample_trace(folder_ / "trace", what);
  }

  StepReport step(const std::string& spec, double factor, const Feed& feed = {}) {
    const Trace trace(folder_ / "trace");
    ReplayOptions options;
    options.feed = feed;
    options.compressor = parse_spec(spec);
    options.time_scale = factor;
    Replay replay(trace, options, 0, 1);
    captured_ = trace.times(0, 0).compute();
    Mailboxes boxes;
    replay.connect([&](std::size_t capacity) {
      return std::make_unique<RingPattern>(std::make_unique<ThreadTransport>(boxes, 0, 1),
                                           capacity);
    });
    return replay.step(0);
  }

  TemporaryFolder folder_;
  double captured_ = 0;
};

TEST_F(TimeScaleTest, SlowMotionStretchesComputeAndCodec) {
  for (const char* spec : {"topk:ratio=0.01", "terngrad", "powersgd:rank=2"}) {
    SCOPED_TRACE(spec);
    const StepReport report = step(spec, 3);
    EXPECT_EQ(report.wanted, captured_);
    EXPECT_GE(report.compute, 3 * captured_);
    EXPECT_GT(report.codec, 0);
    EXPECT_GE(report.compress, 3 * report.codec * 0.999);
    EXPECT_GE(report.lag, 0);
    EXPECT_GE(report.arrived, report.compute);
  }
}

TEST_F(TimeScaleTest, SlowMotionStretchesAllThatOverlaps) {
  Feed feed;
  feed.overlap = Overlap::kBucket;
  feed.limits = BucketLimits::parse("first=2kb,rest=10kb");
  for (const bool beside : {false, true})
    for (const char* spec : {"topk:ratio=0.01", "terngrad", "powersgd:rank=2"}) {
      SCOPED_TRACE(spec);
      feed.codec_beside = beside;
      const StepReport report = step(spec, 3, feed);
      EXPECT_EQ(report.wanted, captured_);
      EXPECT_EQ(report.compute, 3 * captured_);
      EXPECT_GT(report.codec, 0);
      EXPECT_GT(report.codec_decode, 0);
      EXPECT_GE(report.compress, 3 * report.codec * 0.999);
      EXPECT_GE(report.decode, 3 * report.codec_decode * 0.999);
      EXPECT_GE(report.overrun, 0);
      // Between rounds PowerSGD computes in the thread that communicates, beside the backward pass.
      const bool in_turn = !beside && std::string_view(spec) != "powersgd:rank=2";
      EXPECT_GE(report.total, 3 * captured_ + (in_turn ? 2.997 * report.codec : 0));
      // The bucket of the last tensor, ready first: a third of the step is forward, and a quarter
      // of the rest has passed by then.
      for (const PhaseSpan& span : report.timeline)
        if (span.phase == Phase::kExchange && span.bucket == 0) {
          EXPECT_GE(span.begin, 3 * captured_ * (1 + 2.0 / 4) / 3 * 0.999);
        }
    }
}

TEST_F(TimeScaleTest, HooksThatDoNothingAreStretchedToo) {
  Feed feed;
  feed.overlap = Overlap::kBucket;
  const Trace trace(folder_ / "trace");
  ReplayOptions options;
  options.feed = feed;
  options.time_scale = 3;
  Replay replay(trace, options, 0, 1);
  Mailboxes boxes;
  replay.connect([&](std::size_t capacity) {
    return std::make_unique<RingPattern>(std::make_unique<ThreadTransport>(boxes, 0, 1), capacity);
  });
  EXPECT_GE(replay.step_without_exchange(0).total, 3 * trace.times(0, 0).compute());
}

TEST_F(TimeScaleTest, FastMotionEncodesWhileTheComputeTimePasses) {
  const StepReport report = step("topk:ratio=0.01", 0.5);
  EXPECT_GE(report.arrived, 0.5 * (captured_ + report.codec) * 0.999);
  EXPECT_GT(report.codec_decode, 0);
  EXPECT_GE(report.arrived, (report.compress + report.compute) * 0.999);
}

TEST_F(TimeScaleTest, FastMotionIsRefusedWhereCodecsWorkBetweenExchanges) {
  EXPECT_THROW(step("powersgd:rank=2", 0.5), InputError);
  EXPECT_THROW(step("terngrad", 0.5), InputError);
  EXPECT_NO_THROW(step("powersgd:rank=2", 1));
}

}  // namespace
}  // namespace thinpipe
