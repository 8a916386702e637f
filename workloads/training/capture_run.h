// A capture from start to end: train, record, close the trace. SIGINT, SIGTERM and SIGHUP end the
// capture and remove the unfinished trace.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>

#include "workloads/capture/options.h"

namespace thinpipe {

struct CaptureSummary {
  std::uint64_t parameters = 0;
  std::uint64_t tensors = 0;
  std::uint64_t trace_bytes = 0;  ///< bytes of the recorded gradients, without headers
  double first_loss = 0;          ///< mean over the first tenth of the steps (at least one)
  double last_loss = 0;           ///< mean over the last tenth
  double forward = 0;             ///< seconds; median over workers and recorded steps
  double backward = 0;            ///< likewise
  double seconds = 0;             ///< of the training loop
};

/// Called after each step with its number and loss; may throw to end the run.
using StepCallback = std::function<void(std::uint64_t step, double loss)>;

/// Runs a capture. Any exception, also of the callback, removes the folder.
/// @throws InputError for data or a folder that cannot be used; RunError if the loss is not finite,
/// or did not fall over 20 steps or more.
CaptureSummary run_capture(const CaptureOptions& options, const StepCallback& after_step = {});

/// Thrown between two workers after a signal to end the program.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(int signal) : std::runtime_error("interrupted"), signal_(signal) {}
  int signal() const { return signal_; }

 private:
  int signal_;
};

/// Installs handlers that only record the arrival of SIGINT, SIGTERM or SIGHUP. A second signal of
/// the same kind ends the program at once.
void note_interrupts();

/// Ends this process by the signal itself, so that the parent sees the signal.
[[noreturn]] void end_by_signal(int signal);

}  // namespace thinpipe
