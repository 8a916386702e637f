// Replays a small trace on every rank, on processors and on devices that processors play.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "tests/base/support.h"
#include "workloads/replay/replay.h"

namespace thinpipe {

// A pattern's name: a ring that plays a library which takes addresses on devices.
constexpr const char* kBetweenDevices = "between devices";

// Some tensors of the trace leave before others.
inline Feed bucketed_feed() {
  Feed feed;
  feed.overlap = Overlap::kBucket;
  feed.limits = BucketLimits::parse("first=1kb,rest=10kb");
  return feed;
}
inline Feed local_feed() {
  Feed feed = bucketed_feed();
  feed.local_steps = 2;
  return feed;
}

class DeviceReplayTest : public ::testing::Test {
 protected:
  // Result of one step on one rank.
  struct Stepped {
    std::vector<float> aggregate, update, contribution;
    std::vector<std::byte> state;
    StepReport report;
    double relative_error = 0;
    TransportCounters sent;
  };
  // By rank and step.
  using AllSteps = std::vector<std::vector<Stepped>>;

  void SetUp() override;
  // Another trace instead, of two ranks and three steps.
  void make_trace(std::vector<std::vector<std::int64_t>> shapes);

  // Runs what a rank does in a thread for each, servers after workers where there are some.
  AllSteps run(const ReplayOptions& options, bool on_device, int ranks, std::uint64_t steps,
               const std::string& pattern);

  static bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

  void expect_same(const ReplayOptions& options, int ranks, const std::string& pattern = "ring",
                   std::uint64_t steps = 4);

  TemporaryFolder folder_;
  bool saves_each_step_ = true;
  // Else nothing is asked for after a step but what is of one that no sweep checks.
  bool checks_ = true;
  std::function<RankDevice(int rank)> play_ = play_device;

 private:
  static RankDevice play_device(int rank);
  Stepped stepped(Replay& replay, std::uint64_t step, bool saves) const;
};

}  // namespace thinpipe
