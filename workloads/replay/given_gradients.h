// Gradients that a trainer hands over before each step, in place of a trace's files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace thinpipe {

/// What is known of a training job before its first step.
struct GivenDescription {
  std::string model;
  std::string identity;              ///< names it in records
  std::vector<TraceTensor> tensors;  ///< parameters, in the model's order
  TraceStepTimes times;              ///< of every step, of every worker; `ready` by tensor
  std::size_t ranks = 1;
  bool squares = false;  ///< second moments are handed over as well
};

/// One worker's gradients of the step to come, one tensor after the other in memory, behind the
/// face of a trace: what replays a trace then trains. All ranks and steps of the trace are this
/// worker's present one.
class GivenGradients {
 public:
  explicit GivenGradients(GivenDescription description);

  const Trace& trace() const { return trace_; }
  bool has_squares() const;

  /// To be filled before each step: by tensor, or all of them one after the other.
  std::span<float> values(std::size_t tensor);
  std::span<float> values();
  /// Likewise second moments; only with has_squares().
  std::span<float> squares(std::size_t tensor);
  std::span<float> squares();

 private:
  struct Source;
  Source* source_;  ///< the trace has it
  Trace trace_;
};

}  // namespace thinpipe
