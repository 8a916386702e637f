// The conversation with the ranks in which a point is measured: they get ready, step, and tell what
// they ended with.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/sweep/idle_watch.h"
#include "harness/sweep/options.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "netem/topology/topology.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// What ranks are told of a point before its first step, but for what they step on: the `prepare`
/// of harness/launch/launch.h without a trace.
nlohmann::json prepare_message(const SweepPoint& point, const SweepOptions& options);

/// s in which a message reaches every rank of this machine, and is read.
double start_seconds(const Launch& launch);

/// Fills the samples of one point. Its links are set.
class PointRun {
 public:
  /// @param planned  the network as it was set
  PointRun(const SweepPoint& point, const SweepOptions& options, const Trace& trace,
           const Topology& planned, Machines& machines, Launch& launch, PointSamples& samples);

  /// Every rank reads the point and makes its compressors and pattern.
  /// @throws WorkerRefusal when one cannot, or has another trace.
  void prepare();
  /// Steps of hooks that do nothing: the bound that they set, measured by the same ranks in the
  /// same minute.
  void step_without_exchange();
  /// The steps to warm up and the measured ones. `stepped` is told of each.
  /// @throws RunError when one does not end.
  void take_steps(ScheduleLog& schedule, const std::function<void()>& stepped);

 private:
  std::vector<nlohmann::json> take_step(std::uint64_t step, const ScheduleLog& schedule);
  void keep_step(std::uint64_t step, std::vector<nlohmann::json> answers, bool check);

  const SweepPoint& point_;
  const SweepOptions& options_;
  const Trace& trace_;
  Machines& machines_;
  Launch& launch_;
  PointSamples& samples_;
  double patience_, check_patience_;  // s
  bool loads_ = false;                // gradients are drawn before each step
};

}  // namespace thinpipe
