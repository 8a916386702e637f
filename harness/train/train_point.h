// Trains a point by messages to its ranks, and captures a trace of their gradients.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/launch/launch.h"
#include "harness/plan/plan.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "harness/sweep/sweep.h"
#include "harness/train/options.h"
#include "harness/train/series.h"

namespace thinpipe {

/// A point that was trained to its end.
struct Trained {
  TrainSeries series;
  std::string digest;                  ///< of the parameters that all ranks ended with
  std::vector<std::uint64_t> resumed;  ///< steps from which the training was resumed
  std::vector<std::string> warnings;   ///< reasons not to trust the times before it was resumed
  bool shared = false;                 ///< another run was measured on this machine before that
};

/// A point to train, with all that its training uses.
struct TrainJob {
  const SweepPoint& point;
  const TrainOptions& options;
  const ModelDescription& model;
  Machines& machines;
  Launch& launch;
  double step_timeout;    ///< s that a step may take
  PointSamples& samples;  ///< receives the data for warnings_about() and errors_of()
  const PointProgress& progress;
  ScheduleLog& schedule;
};

/// Returns the folder of a point's captured trace. @param id  of the point
std::filesystem::path capture_folder(const TrainOptions& options, const std::string& id);

/// Checks that a trace can be written to the folder: it must be new or empty. A resumed training
/// replaces an unfinished trace. @throws InputError
void check_capture_folder(const std::filesystem::path& folder, bool resumes);

/// A training has diverged: a loss or a gradient is not finite. The ranks are ready for other work.
class Diverged : public RunError {
 public:
  using RunError::RunError;
};

/// Trains one point from its first step, or from its last checkpoint, to its last step. Captures
/// the workers' gradients if the options name a folder for them.
/// @throws WorkerRefusal when a rank cannot make its learner or compressors; Diverged for a loss or
/// a gradient that is not finite; InputError for a checkpoint that cannot be used; SystemError when
/// a file cannot be read or written; RunError when a step does not end, ranks' parameters differ,
/// or a stop was requested. After a stop the last step has a checkpoint where possible.
Trained train_point(const TrainJob& job);

}  // namespace thinpipe
