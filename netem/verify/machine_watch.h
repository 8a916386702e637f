// Watches the machine during a measurement, to tell whether the figures are the link's.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/machine_load.h"

namespace thinpipe {

/// Share of a measurement's time by which timed waits may end late beyond kStallSeconds, and of a
/// stream's payload that may have been sent twice though none of it was lost. Either lowers a
/// goodput by as much at most, and a link is judged to within 3 %: a third of that is the
/// machine's.
inline constexpr double kMachineShare = 0.01;
/// s: for so long the default bucket makes up, which is 1 ms of the rate (docs/links.md).
inline constexpr double kStallSeconds = 1e-3;

/// Findings of a MachineWatch and of the senders of a measurement.
struct Disturbance {
  /// Share of the processors' time; nothing of a short measurement.
  std::optional<double> idle = {};
  double late_p95 = 0;  ///< s by which 5 % of the watch's waits ended late, or later
  double stalled = 0;   ///< share of the time: sum of what waits were later than a stall
  double repeated = 0;  ///< share of the payload that a TCP sender sent again without need, because
                        ///< acknowledgements were late; of the worst stream

  /// Why the measurement is not valid, such as "idle 0.4 %"; "" when it is.
  /// @param share  that the machine may take of what was measured: of `stalled` and `repeated` each
  std::string reason(double share = kMachineShare) const;
};

/// Returns the worse value of each sign.
Disturbance worse_of(const Disturbance& a, const Disturbance& b);

/// Watches from its construction on, by a thread that waits for 2 ms at a time as qdiscs and
/// senders wait for their timers. That takes less than 1 % of a processor.
class MachineWatch {
 public:
  MachineWatch();
  ~MachineWatch();
  MachineWatch(const MachineWatch&) = delete;
  MachineWatch& operator=(const MachineWatch&) = delete;

  /// Ends it. Call it once.
  /// @param spare  s of processor time that an Awake had meanwhile, which counts as idle
  Disturbance stop(double spare = 0);

 private:
  void run();

  ProcessorTime before_ = processor_time();
  double begin_;
  std::atomic<bool> done_ = false;
  std::vector<double> late_;  // s, of every wait
  std::thread thread_;
};

}  // namespace thinpipe
