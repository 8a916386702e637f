// The conversation with the ranks in which a point is trained, and the trace of what they computed.
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

/// A trace of what a training run's workers computed, written along the way. Every rank leaves its
/// gradient in a file (TrainWorker's `dump`); this puts those of a step together. Does nothing for
/// a run that captures nothing.
class CaptureWriter {
 public:
  CaptureWriter(const SweepPoint& point, const TrainOptions& options,
                const ModelDescription& model);
  /// A trace that was not finished goes.
  ~CaptureWriter();
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  bool wants(std::uint64_t step) const;
  /// Where the ranks leave their files: made when it is first asked for.
  const std::filesystem::path& folder();
  /// Reads them all. @param losses  by worker @throws InputError, SystemError as TraceWriter does
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
  /// Digest of the parameters that all ranks ended with.
  const std::string& digest() const { return digest_; }
  /// Steps from which it went on after an interruption.
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
};

}  // namespace thinpipe
