// Time scales above 1: copies between a device and the host are slowed down as links are.
#include "tests/cuda/replay/device_replay.h"

namespace thinpipe {
namespace {

// Codec and copies, one after the other, within a step.
void expect_slowed(const StepReport& report, double time_scale) {
  EXPECT_GE(report.total, time_scale * (report.codec + report.copy_down + report.copy_up) * 0.999);
}

// Codec, then copies that take so many s by the device's clock.
void expect_slowed(const StepReport& report, double time_scale, double copies) {
  EXPECT_GT(copies, 0);
  EXPECT_GE(report.total, time_scale * (report.codec + copies) * 0.999);
  EXPECT_GE(report.compress, time_scale * report.codec * 0.999);
}

TEST_F(DeviceReplayTest, SlowMotionChangesTimesAndNothingElse) {
  ReplayOptions options;
  options.time_scale = 3;
  for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket})
    for (const char* spec : {"none", "topk:ratio=0.05", "terngrad"}) {
      SCOPED_TRACE(spec);
      options.compressor = parse_spec(spec);
      options.feed.overlap = overlap;
      expect_same(options, 2);
    }
}

// Sums go up when they are decoded: at the end of a step, which is not slowed down.
TEST_F(DeviceReplayTest, SumsComeDownInSlowMotion) {
  ReplayOptions options;
  options.time_scale = 50;
  for (const char* spec : {"none", "fp16"}) {
    SCOPED_TRACE(spec);
    options.compressor = parse_spec(spec);
    for (const std::vector<Stepped>& steps : run(options, true, 2, 3, "ring"))
      for (std::size_t step = 1; step < steps.size(); ++step) {  // room was made in the first
        const StepReport& report = steps[step].report;
        expect_slowed(report, options.time_scale, report.copy_down);
      }
  }
}

TEST_F(DeviceReplayTest, GatheredPayloadsGoBothWaysInSlowMotion) {
  ReplayOptions options;
  options.time_scale = 50;
  for (const char* spec : {"terngrad", "topk:ratio=0.1"}) {
    SCOPED_TRACE(spec);
    options.compressor = parse_spec(spec);
    for (const std::vector<Stepped>& steps : run(options, true, 2, 3, "ring"))
      for (std::size_t step = 1; step < steps.size(); ++step) {  // room was made in the first
        const StepReport& report = steps[step].report;
        EXPECT_GT(report.copy_down, 0);
        EXPECT_GT(report.copy_up, 0);
        // Both ways go on at a time.
        expect_slowed(report, options.time_scale, std::max(report.copy_down, report.copy_up));
      }
  }
}

TEST_F(DeviceReplayTest, CodesComeDownInSlowMotion) {
  ReplayOptions options;
  options.time_scale = 50;
  for (const Feed& feed : {Feed{}, bucketed_feed()}) {
    SCOPED_TRACE(feed.to_string());
    options.feed = feed;
    expect_same(options, 2, "qgz", 2);
  }
  options.feed = {};
  for (const std::vector<Stepped>& steps : run(options, true, 2, 3, "qgz:group=1"))
    for (std::size_t step = 1; step < steps.size(); ++step) {  // room was made in the first
      const StepReport& report = steps[step].report;
      // The device quantises, and is waited for; sums go up when they are decoded.
      EXPECT_GT(report.codec, 0);
      expect_slowed(report, options.time_scale, report.copy_down);
    }
}

TEST_F(DeviceReplayTest, CopiesBetweenRoundsAreSlowedDown) {
  ReplayOptions options;
  options.time_scale = 20;
  options.compressor = parse_spec("powersgd");
  expect_same(options, 2, "ring", 2);
  for (const std::vector<Stepped>& steps : run(options, true, 2, 3, "ring"))
    for (std::size_t step = 1; step < steps.size(); ++step) {
      const StepReport& report = steps[step].report;
      EXPECT_GT(report.codec, 0);
      // One after the other, unlike those of payloads.
      expect_slowed(report, options.time_scale);
      EXPECT_GE(report.compress, options.time_scale * report.codec * 0.999);
    }
}

TEST_F(DeviceReplayTest, WhatWasSelectedGoesUpInSlowMotion) {
  ReplayOptions options;
  options.compressor = parse_spec("topk:ratio=0.1,memory=none");  // nothing to be put back
  options.time_scale = 50;
  for (const std::vector<Stepped>& steps : run(options, true, 2, 3, "gtopk"))
    for (std::size_t step = 1; step < steps.size(); ++step) {  // room was made in the first
      const StepReport& report = steps[step].report;
      EXPECT_GT(report.copy_up, 0);
      expect_slowed(report, options.time_scale);
    }
}

TEST_F(DeviceReplayTest, ServersAnswersGoUpInSlowMotion) {
  ReplayOptions options;
  options.servers = PushPullOptions{};
  options.compressor = parse_spec("fp16");
  options.time_scale = 50;
  for (const std::vector<Stepped>& steps : run(options, true, 2, 3, ""))
    for (std::size_t step = 1; step < steps.size(); ++step) {  // room was made in the first
      const StepReport& report = steps[step].report;
      EXPECT_GT(report.copy_up, 0);
      // An answer waits for what was pushed.
      expect_slowed(report, options.time_scale);
    }
}

}  // namespace
}  // namespace thinpipe
