// Measures how busy this machine is, and defines the limits of load above which its measurements
// are not trusted. docs/fidelity.md, "When a point is not believed", gives the reason for each
// limit.
#pragma once

#include <fstream>
#include <optional>
#include <string>

namespace thinpipe {

/// Fraction of the CPUs' time that must have been idle.
inline constexpr double kMinIdle = 0.02;
/// Seconds by which 5 % of timed waits may overrun.
inline constexpr double kLateSeconds = 2e-3;

/// Time of all CPUs of the machine, in clock ticks.
struct ProcessorTime {
  double idle = 0, all = 0;
  double stolen = 0;  ///< in which the hypervisor ran other machines on these CPUs

  ProcessorTime operator-(const ProcessorTime& before) const {
    return {idle - before.idle, all - before.all, stolen - before.stolen};
  }
  /// Returns the idle fraction; nothing where the kernel's ticks are too coarse for so short a
  /// time.
  std::optional<double> idle_share() const {
    constexpr double kMinTicks = 10;  // of 10 ms, all CPUs together
    return all >= kMinTicks ? std::optional(idle / all) : std::nullopt;
  }
};

/// Returns the CPU time since the machine booted.
inline ProcessorTime processor_time() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;  // "cpu": user nice system idle iowait irq softirq steal (guests are in user)
  ProcessorTime time;
  double value = 0;
  for (int column = 0; column < 8 && file >> value; ++column) {
    time.all += value;
    if (column == 3 || column == 4) time.idle += value;
    if (column == 7) time.stolen = value;
  }
  return time;
}

}  // namespace thinpipe
