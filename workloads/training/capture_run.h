// A capture from start to end: train, record, close the trace. Ctrl-C and its kin end it such that
// the unfinished trace is removed.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>

#include "workloads/capture/options.h"

namespace thinpipe {

struct CaptureSummary {
  std::uint64_t parameters = 0;
  std::uint64_t tensors = 0;
  std::uint64_t trace_bytes = 0;  ///< of the gradients recorded, without headers
  double first_loss = 0;          ///< mean over the first tenth of the steps (at least one)
  double last_loss = 0;           ///< mean over the last tenth
  double forward = 0;             ///< seconds; median over workers and recorded steps
  double backward = 0;            ///< likewise
  double seconds = 0;             ///< of the training loop
};

/// Called after each step with its number and loss; may throw to end the run.
using StepCallback = std::function<void(std::uint64_t step, double loss)>;

/// @throws InputError for data or a folder that cannot be used; RunError when the loss is not
/// finite, or did not fall over 20 steps or more. The folder is then removed, as it is for
/// whatever the callback throws.
CaptureSummary run_capture(const CaptureOptions& options, const StepCallback& after_step = {});

/// A signal asked the program to end. It is noticed between two workers.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

/// From now on SIGINT, SIGTERM and SIGHUP are only noted; a second one of a kind ends the program
/// at once.
void note_interrupts();

/// Ends this process by the signal itself, so that the caller sees what happened.
[[noreturn]] void end_by_signal(int signal);

}  // namespace thinpipe
