// Steps under time dilation and compression, by relations that are valid however slow a machine;
// and stragglers.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tests/replay/replay_ranks.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/step_threads.h"
#include "workloads/replay/stragglers.h"

namespace thinpipe {
namespace {

TEST(Pace, StretchesWorkByTheFactorAndCountsItAtItsOwnSpeed) {
  Pace pace(3, 1);
  const double begin = now_seconds();
  pace.begin();
  work_for(0.002);
  pace.end();
  EXPECT_GE(now_seconds() - begin, 3 * pace.own());
  EXPECT_GE(pace.own(), 0.002);
  EXPECT_GE(pace.overrun(), 0);
  pace.reset();
  EXPECT_EQ(pace.own(), 0);
}

// How often this thread has waited, rather than lost its core to another one.
long waits() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

// With the factor of 100 the second piece of work (2 ms) would wait until it has lasted 0.2 s. It
// does not wait, because the first piece lasted 0.4 s too long. A hypervisor's pause may count as
// work, after which a piece waits all the same, so one of several pieces counts.
TEST(Pace, PiecesMakeUpForThoseThatLastedTooLong) {
  Pace pace(100, 1);
  long waited = 1;
  for (int i = 0; i < 10 && waited > 0; ++i) {
    pace.reset();
    pace.begin();
    work_for(0.001);
    wait_until(now_seconds() + 0.5);
    pace.end();
    const double late = pace.overrun();
    EXPECT_GE(late, 0.5 - 100 * pace.own());
    const double begin = now_seconds();
    const long before = waits();
    pace.begin();
    work_for(0.002);
    const double worked = pace.end();
    waited = waits() - before;
    EXPECT_LE(pace.overrun(), late + now_seconds() - begin - 100 * worked + 1e-6);
  }
  EXPECT_EQ(waited, 0);
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

class TimeScaleTest : public SampleTraceTest {
 protected:
  TimeScaleTest() : SampleTraceTest({.compute_seconds = 0.004}) {}

  StepReport step(const std::string& spec, double factor, const Bucketing& bucketing = {}) {
    ReplayOptions options = replay_options(spec, bucketing);
    options.time_scale = factor;
    return LoneReplay(trace_, options).step(0);
  }

  const double captured_ = trace_.times(0, 0).compute();
};

TEST_F(TimeScaleTest, TimeDilationStretchesComputeAndCodec) {
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

TEST_F(TimeScaleTest, TimeDilationStretchesAllThatOverlaps) {
  Bucketing bucketing = overlapped();
  for (const bool beside : {false, true})
    for (const char* spec : {"topk:ratio=0.01", "terngrad", "powersgd:rank=2"}) {
      SCOPED_TRACE(spec);
      bucketing.codec_beside = beside;
      const StepReport report = step(spec, 3, bucketing);
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
      // The bucket of the last tensor is ready first. The forward pass is a third of the step, and
      // a quarter of the rest has passed when the bucket is ready.
      for (const PhaseSpan& span : report.timeline)
        if (span.phase == Phase::kExchange && span.bucket == 0) {
          EXPECT_GE(span.begin, 3 * captured_ * (1 + 2.0 / 4) / 3 * 0.999);
        }
    }
}

TEST_F(TimeScaleTest, HooksThatDoNothingAreStretchedToo) {
  ReplayOptions options;
  options.bucketing.overlap = Overlap::kBucket;
  options.time_scale = 3;
  EXPECT_GE(LoneReplay(trace_, options).step_without_exchange(0).total, 3 * captured_);
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

TEST(Stragglers, NobodyUnlessSomebodyIsNamed) {
  EXPECT_TRUE(Stragglers::parse("none").empty());
  EXPECT_EQ(Stragglers().to_string(), "none");
  EXPECT_EQ(Stragglers().compute(0.25, 3, 7), 0.25);
  EXPECT_EQ(Stragglers().longest(0.25), 0.25);
}

TEST(Stragglers, PartsAreOfTheHostsTheyName) {
  const Stragglers two = Stragglers::parse("host1:compute=2;host2-3:stall=10ms,compute=0.5");
  EXPECT_EQ(two.to_string(), "host1:compute=2;host2-3:compute=0.5,stall=10ms");
  EXPECT_EQ(two.compute(0.1, 0, 0), 0.1);
  EXPECT_EQ(two.compute(0.1, 1, 5), 0.2);
  EXPECT_DOUBLE_EQ(two.compute(0.1, 2, 0), 0.06);
  EXPECT_DOUBLE_EQ(two.compute(0.1, 3, 9), 0.06);
  EXPECT_EQ(two.compute(0.1, 4, 0), 0.1);
  EXPECT_DOUBLE_EQ(two.longest(0.1), 0.21);
  // One on top of the other: 0.1 * 2 * 3 + 0.02.
  EXPECT_DOUBLE_EQ(
      Stragglers::parse("hosts:compute=2;host0:compute=3;hosts:stall=20ms").compute(0.1, 0, 0),
      0.62);
}

// Over 20000 draws the mean is off by 0.3 / sqrt(20000) = 0.002. The standard deviation is off by a
// few times as much if the distribution's tail is long.
TEST(Stragglers, JitterHasMeanOneAndTheDeviationAskedFor) {
  for (const char* dist : {"lognormal", "exponential", "uniform"}) {
    SCOPED_TRACE(dist);
    const Stragglers jitter = Stragglers::parse(std::string("hosts:jitter=0.3,dist=") + dist);
    double sum = 0, squares = 0, least = 1e9;
    constexpr int kDraws = 20000;
    for (int step = 0; step < kDraws / 4; ++step)
      for (int host = 0; host < 4; ++host) {
        const double factor = jitter.compute(1, host, std::uint64_t(step));
        sum += factor;
        squares += factor * factor;
        least = std::min(least, factor);
        ASSERT_LE(factor, jitter.longest(1));
      }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 1, 0.01);
    EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), 0.3, 0.02);
    EXPECT_GT(least, 0);
    const std::string name = dist;
    EXPECT_GE(least, name == "exponential" ? 0.7
                     : name == "uniform"   ? 1 - 0.3 * std::sqrt(3.0)
                                           : 0);
  }
}

TEST(Stragglers, DrawsAreOfSeedHostAndStep) {
  const Stragglers one = Stragglers::parse("hosts:jitter=0.3"),
                   same = Stragglers::parse("hosts:jitter=0.3,seed=1"),
                   other = Stragglers::parse("hosts:jitter=0.3,seed=2");
  EXPECT_EQ(one.compute(1, 2, 3), same.compute(1, 2, 3));
  EXPECT_NE(one.compute(1, 2, 3), other.compute(1, 2, 3));
  EXPECT_NE(one.compute(1, 2, 3), one.compute(1, 3, 3));
  EXPECT_NE(one.compute(1, 2, 3), one.compute(1, 2, 4));
  // Two equal clauses draw independently.
  const double twice = Stragglers::parse("hosts:jitter=0.3;hosts:jitter=0.3").compute(1, 2, 3);
  EXPECT_NE(twice, std::pow(one.compute(1, 2, 3), 2));
}

TEST(Stragglers, ChanceIsTheShareOfStepsThatAPartHoldsIn) {
  const Stragglers rare = Stragglers::parse("host0:stall=100ms,chance=0.1");
  int stalled = 0;
  for (std::uint64_t step = 0; step < 10000; ++step) {
    const double seconds = rare.compute(0, 0, step);
    ASSERT_TRUE(seconds == 0 || seconds == 0.1);
    stalled += seconds > 0 ? 1 : 0;
  }
  EXPECT_NEAR(stalled, 1000, 120);  // four deviations
  EXPECT_EQ(Stragglers::parse("host0:stall=1s,chance=0").compute(1, 0, 0), 1);
}

TEST(Stragglers, AlternativesAreACrossProduct) {
  std::vector<std::string> texts;
  for (const Stragglers& one : Stragglers::expand("host0:compute=2|4;hosts:jitter=0|0.1"))
    texts.push_back(one.to_string());
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "host0:compute=2;hosts:jitter=0", "host0:compute=2;hosts:jitter=0.1",
                       "host0:compute=4;hosts:jitter=0", "host0:compute=4;hosts:jitter=0.1"}));
  EXPECT_EQ(Stragglers::expand("none").size(), 1U);
}

TEST(Stragglers, WhatCannotBeIsRefusedByName) {
  const auto refused = [](const char* text, const std::string& expected) {
    const std::string error = input_error([&] { Stragglers::parse(text); });
    EXPECT_FALSE(error.empty()) << text << " was taken";
    EXPECT_NE(error.find(expected), std::string::npos) << error;
  };
  refused("rank3:compute=2", "expected host3, host4-7 or hosts");
  refused("host:compute=2", "expected host3");
  refused("host4-2:compute=2", "expected host3");
  refused("host3:speed=2", "unknown key 'speed'");
  refused("host3:compute=-1", "compute=-1: expected a number from 0 to 1000");
  refused("host3:compute=fast", "compute=fast");
  refused("host3:stall=5", "5");  // no unit
  refused("hosts:jitter=0.6,dist=uniform", "jitter=0.6: expected a number from 0 to 0.57735");
  refused("hosts:jitter=0.1,dist=pareto", "dist=pareto: expected one of lognormal");
  refused("hosts:chance=2", "chance=2");
  refused("host0:compute=2|3", "alternatives");
  refused("", "");
  refused("host0:compute=2;", "");
  EXPECT_THROW(Stragglers::parse("host4:compute=2").check(4), InputError);
  EXPECT_THROW(Stragglers::parse("host2-4:compute=2").check(4), InputError);
  EXPECT_NO_THROW(Stragglers::parse("host3:compute=2;hosts:jitter=0.1").check(4));
}

}  // namespace

}  // namespace thinpipe
