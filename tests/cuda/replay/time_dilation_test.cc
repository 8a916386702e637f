// Time dilation: with time scales above 1, copies between device and host are slowed down like
// links.
#include "tests/cuda/replay/device_replay.h"

namespace thinpipe {
namespace {

// Expects codec and copies one after the other within a step.
void expect_slowed(const StepReport& report, double time_scale) {
  EXPECT_GE(report.total, time_scale * (report.codec + report.copy_down + report.copy_up) * 0.999);
}

// Expects the codec, then copies that take `copies` s by the device's clock.
void expect_slowed(const StepReport& report, double time_scale, double copies) {
  EXPECT_GT(copies, 0);
  EXPECT_GE(report.total, time_scale * (report.codec + copies) * 0.999);
  EXPECT_GE(report.compress, time_scale * report.codec * 0.999);
}

// Calls check(report) for every rank and step but the first step, which allocates buffers.
void each_report(const auto& all, const auto& check) {
  for (const auto& steps : all)
    for (std::size_t step = 1; step < steps.size(); ++step) check(steps[step].report);
}

constexpr double kScale = 50;

ReplayOptions dilated(const std::string& rules, double time_scale = kScale) {
  ReplayOptions options = options_of(rules);
  options.time_scale = time_scale;
  return options;
}

TEST_F(DeviceReplayTest, TimeDilationChangesOnlyTimes) {
  for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket})
    for (const char* spec : {"none", "topk:ratio=0.05", "terngrad"}) {
      ReplayOptions options = dilated(spec, 3);
      options.bucketing.overlap = overlap;
      expect_same(options, 2);
    }
}

// Sums are uploaded to the GPU when they are decoded, at the end of a step. Time dilation does not
// apply to this upload.
TEST_F(DeviceReplayTest, DownloadsOfSumsAreDilated) {
  for (const char* spec : {"none", "fp16"}) {
    SCOPED_TRACE(spec);
    each_report(run(dilated(spec), true, 2, 3, "ring"),
                [](const StepReport& report) { expect_slowed(report, kScale, report.copy_down); });
  }
}

TEST_F(DeviceReplayTest, CopiesOfAllGatheredPayloadsAreDilated) {
  for (const char* spec : {"terngrad", "topk:ratio=0.1"}) {
    SCOPED_TRACE(spec);
    each_report(run(dilated(spec), true, 2, 3, "ring"), [](const StepReport& report) {
      EXPECT_GT(report.copy_down, 0);
      EXPECT_GT(report.copy_up, 0);
      // Both directions overlap.
      expect_slowed(report, kScale, std::max(report.copy_down, report.copy_up));
    });
  }
}

TEST_F(DeviceReplayTest, DownloadsOfCodesAreDilated) {
  ReplayOptions options = dilated("none");
  for (const Bucketing& bucketing : {bucketed_bucketing(), Bucketing{}}) {
    options.bucketing = bucketing;
    expect_same(options, 2, "qgz", 2);
  }
  each_report(run(options, true, 2, 3, "qgz:group=1"), [](const StepReport& report) {
    // The host waits while the GPU quantises; sums are uploaded when they are decoded.
    EXPECT_GT(report.codec, 0);
    expect_slowed(report, kScale, report.copy_down);
  });
}

TEST_F(DeviceReplayTest, CopiesBetweenRoundsAreDilated) {
  const ReplayOptions options = dilated("powersgd", 20);
  expect_same(options, 2, "ring", 2);
  each_report(run(options, true, 2, 3, "ring"), [](const StepReport& report) {
    EXPECT_GT(report.codec, 0);
    // These copies do not overlap, unlike those of payloads.
    expect_slowed(report, 20);
    EXPECT_GE(report.compress, 20 * report.codec * 0.999);
  });
}

TEST_F(DeviceReplayTest, UploadsOfSelectedElementsAreDilated) {
  const ReplayOptions options = dilated("topk:ratio=0.1,memory=none");  // nothing to restore
  each_report(run(options, true, 2, 3, "gtopk"), [](const StepReport& report) {
    EXPECT_GT(report.copy_up, 0);
    expect_slowed(report, kScale);
  });
}

TEST_F(DeviceReplayTest, UploadsOfServersAnswersAreDilated) {
  ReplayOptions options = dilated("fp16");
  options.servers = PushPullOptions{};
  each_report(run(options, true, 2, 3, ""), [](const StepReport& report) {
    EXPECT_GT(report.copy_up, 0);
    // An answer waits for the pushed payloads.
    expect_slowed(report, kScale);
  });
}

}  // namespace
}  // namespace thinpipe
