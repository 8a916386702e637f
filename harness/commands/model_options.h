// Options of `predict` and `advise` for the machines of the ranks, and words for the sources of
// times.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "harness/predict/predictor.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

inline constexpr int kMaxPredictedRanks = 1024;

/// Returns `--message-time` and `--cores`.
std::vector<OptionInfo> machine_model_options();

/// Returns the value of --message-time in s; nothing where it is to be measured. @throws InputError
std::optional<double> given_message_time(const Arguments& arguments);

/// The machines of the ranks by these options.
class MachineModel {
 public:
  /// Measures the time of a message where --message-time does not set it. @throws InputError
  explicit MachineModel(const Arguments& arguments);
  PredictedMachines of(int ranks) const;

 private:
  double cores_, message_time_;
};

/// Returns the origin of the compute times, as recorded in the trace.
std::string compute_origin(const Trace& trace, double compute_scale);

/// Returns "measured now on the trace's gradients, one core of AMD EPYC".
std::string measured_origin(int threads);

}  // namespace thinpipe
