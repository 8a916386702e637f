// The measurements of a rank in a step. harness/worker/step_answer.h has the table of it.
#pragma once

#include <cstddef>

#include "workloads/replay/pace.h"

namespace thinpipe {

/// One rank's measurements of one step. Times in seconds by the monotonic clock. With overlap the
/// parts run beside each other, and do not add up to the total.
struct StepReport {
  double compute = 0;   ///< the captured time, waited for
  double late = 0;      ///< how much later than asked for waits ended: the machine's timers
  double compress = 0;  ///< of all buckets
  double compress_cpu =
      0;                ///< processor time of `compress`: less than it when others held the core
  double exchange = 0;  ///< of scales, where the method shares them, and of payloads
  double decode = 0;
  double total = 0;      ///< from the step's begin to its end
  double exposed = 0;    ///< of the total, waiting for exchanges when compute and codec were done
  double link_idle = 0;  ///< of the total, without an exchange under way
  std::size_t payload_bytes = 0;  ///< of this rank's own payloads without their table of lengths
  std::size_t summed_bytes = 0;   ///< of those, what all-reduces summed
  std::size_t pulled_bytes = 0;   ///< that parameter servers answered
  std::size_t target = 0;         ///< sum of k over units; 0 where the method has none
  std::size_t selected = 0;       ///< sum of k-hat over units
  bool exchanged = true;          ///< false in a step that a delayed method holds back
  double begun = 0;               ///< when, by the clock that all ranks of a machine share
  Timeline timeline;
  /// With a device: what its copies took by its own clock, to the host and from it. They go on
  /// beside the rest.
  double copy_down = 0, copy_up = 0;

  // For a time scale other than 1: what the step's time is made of on the emulated machine.
  double wanted = 0;        ///< the compute time asked for, not stretched by the time scale
  double codec = 0;         ///< of `compress`, at this machine's own speed (pace.h)
  double codec_decode = 0;  ///< of `decode`, likewise
  double arrived = 0;       ///< after the step's begin, when the payloads' exchange began
  double lag = 0;           ///< by which that was later than the time scale asks for
  double overrun = 0;       ///< by which codec work between exchanges lasted longer than it should
};

}  // namespace thinpipe
