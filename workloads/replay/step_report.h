// The measurements of a rank in a step. harness/worker/step_answer.h has their table.
#pragma once

#include <cstddef>

#include "workloads/replay/pace.h"

namespace thinpipe {

/// One rank's measurements of one step. Times in seconds by the monotonic clock. With overlap the
/// phases overlap and do not add up to the total.
struct StepReport {
  double compute = 0;   ///< the captured time, waited for; or worked for, then as it took
  double late = 0;      ///< by which waits overran, for example through late timers
  double compress = 0;  ///< of all buckets
  /// CPU time of `compress`: less than `compress` when other processes used the core.
  double compress_cpu = 0;
  double exchange = 0;  ///< of scales, where the method shares them, and of payloads
  double decode = 0;
  double total = 0;      ///< from the step's begin to its end
  double exposed = 0;    ///< of the total, waiting for exchanges when compute and codec were done
  double link_idle = 0;  ///< of the total, without an exchange under way
  std::size_t payload_bytes = 0;  ///< of this rank's own payloads without their table of lengths
  std::size_t summed_bytes = 0;   ///< the payload bytes that all-reduces summed
  std::size_t pulled_bytes = 0;   ///< of the parameter servers' answers
  std::size_t target = 0;         ///< sum of k over units; 0 where the method has none
  std::size_t selected = 0;       ///< sum of k-hat over units
  bool exchanged = true;          ///< false in a step that a delayed method accumulates
  double begun = 0;               ///< when, by the clock that all ranks of a machine share
  Timeline timeline;
  /// Durations of a device's copies by its own clock, to the host and to the device. They overlap
  /// with the other phases.
  double copy_down = 0, copy_up = 0;

  // For a time scale other than 1: the parts of the step's time on the emulated machine.
  double wanted = 0;        ///< the requested compute time, without the time scale
  double codec = 0;         ///< `compress` at this machine's own speed (pace.h)
  double codec_decode = 0;  ///< `decode` likewise
  double arrived = 0;       ///< when the payloads' exchange began, after the step's begin
  double lag = 0;           ///< by which `arrived` was later than under the time scale
  double overrun = 0;       ///< by which codec work between exchanges lasted too long
};

}  // namespace thinpipe
