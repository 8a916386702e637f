// Watches the machine during a measurement, to detect results that reflect the machine rather than
// the link.
#pragma once

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/machine_load.h"

namespace thinpipe {

/// Upper limit of Disturbance::stalled, ::stolen and ::repeated. Each of these fractions lowers a
/// goodput by at most its own value. The tolerance of goodput is 3 %, and a third of it is
/// allowed for effects of the machine.
inline constexpr double kMachineShare = 0.01;
/// Seconds by which a timed wait may overrun without counting as a stall. The default token bucket
/// holds 1 ms of data at the link's rate and makes up for shorter overruns (docs/links.md).
inline constexpr double kStallSeconds = 1e-3;

/// Findings of a MachineWatch and of a measurement's senders.
struct Disturbance {
  /// Fraction of CPU idle time; no value for a short measurement.
  std::optional<double> idle = {};
  double late_p95 = 0;  ///< 95th percentile of the overruns of timed waits, in seconds
  double stalled = 0;   ///< sum of the overruns beyond kStallSeconds, as a fraction of the time
  double stolen = 0;    ///< time that the hypervisor took from all CPUs, as a fraction of the time
  double repeated = 0;  ///< fraction of the payload that a TCP sender retransmitted spuriously,
                        ///< because ACKs were late; the worst stream's

  /// Returns the reason why the measurement is invalid, such as "idle 0.4 %"; "" if it is valid.
  /// @param limit  upper limit of `stalled`, `stolen` and `repeated`
  std::string reason(double limit = kMachineShare) const;
};

/// Returns a Disturbance in which each member is the worse of the two values.
Disturbance worse_of(const Disturbance& a, const Disturbance& b);

/// Measures the CPU time of processes of idle priority (SCHED_IDLE). The kernel gives their CPU to
/// any other process at once, so this time was available to a measurement beside them.
class IdlePriority {
 public:
  /// In clock ticks.
  struct Process {
    double used = 0;     ///< CPU time so far
    double started = 0;  ///< since the machine booted
  };

  IdlePriority();
  /// Returns the CPU time in seconds since construction of the processes that have idle priority
  /// now, and had it then or did not exist yet.
  double seconds() const;
  /// Returns all processes of idle priority, by their numbers.
  static std::map<int, Process> times();

 private:
  double began_;  // in clock ticks since the machine booted
  std::map<int, Process> before_;
};

/// Measures CPU idle time and how late timed waits end, from construction until stop(). A thread of
/// the watch waits 2 ms at a time on a high-resolution timer of the kernel. Qdiscs and senders wait
/// on such timers too, so the thread's overruns show how late theirs are. The watch takes less than
/// 1 % of a CPU.
class MachineWatch {
 public:
  MachineWatch();
  MachineWatch(const MachineWatch&) = delete;  // the thread uses the object

  /// Ends the watch and returns its findings; the caller sets `repeated`. Call it once.
  /// @param spare  CPU time in seconds that the threads of an Awake, which keep the CPUs busy, used
  /// during the watch; counts as idle time, as that of processes of idle priority does
  Disturbance stop(double spare = 0);

 private:
  void run(const std::stop_token& ending);

  ProcessorTime before_ = processor_time();
  IdlePriority beside_;
  double begin_;
  std::vector<double> late_;  // overrun of every wait, in seconds
  std::jthread thread_;
};

}  // namespace thinpipe
