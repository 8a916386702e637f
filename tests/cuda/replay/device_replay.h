// Replays a small trace on every rank, on the CPU and on simulated GPUs.
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

// Name of a collective: a ring that simulates a library that takes device pointers.
constexpr const char* kBetweenDevices = "between devices";

// Buckets, some of which are exchanged before others.
inline Bucketing bucketed_bucketing() {
  Bucketing bucketing;
  bucketing.overlap = Overlap::kBucket;
  bucketing.limits = BucketLimits::parse("first=1kb,rest=10kb");
  return bucketing;
}
inline Bucketing local_bucketing() {
  Bucketing bucketing = bucketed_bucketing();
  bucketing.local_steps = 2;
  return bucketing;
}

/// @param rules  for compressors, or one spec for all tensors
inline ReplayOptions options_of(const std::string& rules, const Bucketing& bucketing = {}) {
  ReplayOptions options;
  options.compressor = CompressorRules::parse(rules);
  options.bucketing = bucketing;
  return options;
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
  // Makes another trace, of two ranks and three steps.
  void make_trace(std::vector<std::vector<std::int64_t>> shapes);

  // Runs each rank in a thread: workers first, then servers, if any.
  AllSteps run(const ReplayOptions& options, bool on_device, int ranks, std::uint64_t steps,
               const std::string& collective);

  static bool same_bits(const std::vector<float>& a, const std::vector<float>& b);

  void expect_same(const ReplayOptions& options, int ranks, const std::string& collective = "ring",
                   std::uint64_t steps = 4);
  /// @param collective  with parameter servers
  void expect_same_with_servers(const std::string& rules, const std::string& collective, int ranks);

  TemporaryFolder folder_;
  bool saves_each_step_ = true;
  // If false, only uses what a sweep uses of steps that it does not check.
  bool checks_ = true;
  std::function<RankDevice(int rank)> make_device_ = simulated_device;

 private:
  static RankDevice simulated_device(int rank);
  Stepped stepped(Replay& replay, std::uint64_t step, bool saves) const;
};

}  // namespace thinpipe
