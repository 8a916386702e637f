// The conversation with the ranks in which a point is trained.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/launch/launch.h"
#include "harness/sweep/idle_watch.h"
#include "harness/sweep/point_work.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "harness/train/capture_writer.h"
#include "harness/train/checkpoint.h"
#include "harness/train/options.h"
#include "harness/train/series.h"
#include "workloads/capture/rate_schedule.h"

namespace thinpipe {

/// One point from its first step, or from its last checkpoint, to its last step.
class TrainPoint {
 public:
  /// @param step_patience  s that a step may take
  /// @param samples  takes what speaks for or against the figures; see doubts_about()
  TrainPoint(const SweepPoint& point, const TrainOptions& options, const ModelDescription& model,
             Machines& machines, Launch& launch, double step_patience, PointSamples& samples,
             const PointProgress& progress);

  /// Ranks make their learners and compressors, and take up the last checkpoint if there is one.
  /// @throws WorkerRefusal when one cannot; InputError for a checkpoint that cannot be used
  void prepare();
  /// @throws WorkerRefusal for a loss or a gradient that is not finite, RunError when a step does
  /// not end, ranks have come to different parameters, or a stop was asked for: a checkpoint of the
  /// last step is then left where that is possible.
  void run(ScheduleLog& schedule);

  const TrainSeries& series() const { return series_; }
  std::uint64_t steps() const { return steps_; }
  /// Of the parameters that all ranks ended with.
  const std::string& digest() const { return digest_; }
  /// Steps from which it went on after an interruption.
  const std::vector<std::uint64_t>& resumed() const { return resumed_; }
  /// s that a step took with all that is not emulated.
  double real_seconds() const { return real_seconds_; }
  const Checkpoints& checkpoints() const { return checkpoints_; }

 private:
  std::vector<nlohmann::json> ask(const nlohmann::json& message, double seconds);
  void take_step(std::uint64_t step, ScheduleLog& schedule);
  std::vector<nlohmann::json> exchange(std::uint64_t step, ScheduleLog& schedule);
  std::vector<double> losses_of(const std::vector<nlohmann::json>& loaded) const;
  void keep(const std::vector<nlohmann::json>& loaded, std::vector<nlohmann::json> stepped);
  void check_step(std::uint64_t step);
  void update(std::uint64_t step, bool check);
  void evaluate(std::uint64_t steps);
  void save(std::uint64_t next_step);
  void restore();
  /// Whether the step is the last of those between two exchanges.
  bool ends_period(std::uint64_t step) const { return (step + 1) % period_ == 0; }

  const SweepPoint& point_;
  const TrainOptions& options_;
  const ModelDescription& model_;
  Machines& machines_;
  Launch& launch_;
  double patience_;
  PointSamples& samples_;
  const PointProgress& progress_;
  Checkpoints checkpoints_;
  CaptureWriter capture_;
  IdleWatch idle_;
  std::optional<Plateau> plateau_;
  std::string identity_;
  TrainSeries series_;
  std::uint64_t steps_ = 0, period_ = 1, next_evaluation_ = 0;
  std::string digest_;
  std::vector<std::uint64_t> resumed_;
  double real_seconds_ = 0;
};

}  // namespace thinpipe
