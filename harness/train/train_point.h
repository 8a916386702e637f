// Trains a point by messages to its ranks, and captures a trace of their gradients.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/launch/launch.h"
#include "harness/plan/plan.h"
#include "harness/sweep/measure.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "harness/sweep/sweep.h"
#include "harness/train/checkpoint.h"
#include "harness/train/options.h"
#include "harness/train/series.h"
#include "workloads/capture/optimiser_spec.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {

/// Writes a trace of the workers' gradients during a training run. Every rank writes its gradient
/// to a file (TrainRole's `dump`), and take() collects the files of a step. Does nothing for a
/// run that captures nothing.
class CaptureWriter {
 public:
  CaptureWriter(const SweepPoint& point, const TrainOptions& options,
                const ModelDescription& model);
  /// Removes the ranks' files, and a trace that was not finished.
  ~CaptureWriter();
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  bool wants(std::uint64_t step) const;
  /// Returns the folder for the ranks' files; makes it in the first call.
  const std::filesystem::path& folder();
  /// Reads the ranks' files. @param losses  by worker @throws InputError, SystemError as
  /// TraceWriter
  void take(std::uint64_t step, const std::vector<double>& losses);
  void finish();

 private:
  std::vector<float> read(const char* what, int rank) const;

  const SweepPoint& point_;
  const TrainOptions& options_;
  const ModelDescription& model_;
  std::filesystem::path folder_, passing_;
  std::optional<TraceWriter> writer_;
};

/// Trains one point from its first step, or from its last checkpoint, to its last step.
class TrainPoint {
 public:
  /// @param step_timeout  s that a step may take
  /// @param samples  receives the data for warnings_about() and errors_of()
  TrainPoint(const SweepPoint& point, const TrainOptions& options, const ModelDescription& model,
             Machines& machines, Launch& launch, double step_timeout, PointSamples& samples,
             const PointProgress& progress);

  /// Has the ranks make their learners and compressors, and restore the last checkpoint, if any.
  /// @throws WorkerRefusal when a rank cannot; InputError for a checkpoint that cannot be used
  void prepare();
  /// Takes all remaining steps.
  /// @throws WorkerRefusal for a loss or a gradient that is not finite, RunError when a step does
  /// not end, ranks' parameters differ, or a stop was requested. After a stop the last step has a
  /// checkpoint where possible.
  void run(ScheduleLog& schedule);

  const TrainSeries& series() const { return series_; }
  std::uint64_t steps() const { return steps_; }
  /// Returns the digest of the parameters that all ranks ended with.
  const std::string& digest() const { return digest_; }
  /// Returns the steps from which the training was resumed.
  const std::vector<std::uint64_t>& resumed() const { return resumed_; }

 private:
  std::vector<nlohmann::json> ask(const nlohmann::json& message, double seconds);
  void take_step(std::uint64_t step, ScheduleLog& schedule);
  StepAnswers exchange(std::uint64_t step, ScheduleLog& schedule);
  std::vector<double> losses_of(const std::vector<nlohmann::json>& loaded) const;
  void keep(const std::vector<nlohmann::json>& loaded, StepAnswers step);
  void check_step(std::uint64_t step);
  void update(std::uint64_t step, bool check);
  void evaluate(std::uint64_t steps);
  void save(std::uint64_t next_step);
  void restore();
  /// Returns true if the step ends with an exchange.
  bool ends_period(std::uint64_t step) const { return (step + 1) % period_ == 0; }

  const SweepPoint& point_;
  const TrainOptions& options_;
  const ModelDescription& model_;
  Machines& machines_;
  Launch& launch_;
  double timeout_;
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
};

}  // namespace thinpipe
