// How busy this machine is, and from where on that decides what is measured on it.
// docs/fidelity.md, "When a point is not believed", has the reason of each limit.
#pragma once

#include <fstream>
#include <optional>
#include <string>

namespace thinpipe {

/// Share of the processors' time that must have been idle.
inline constexpr double kLeastIdle = 0.02;
/// s by which 5 % of timed waits may end late.
inline constexpr double kLateSeconds = 2e-3;

/// Time of all processors of the machine, in clock ticks.
struct ProcessorTime {
  double idle = 0, all = 0;

  ProcessorTime operator-(const ProcessorTime& before) const {
    return {idle - before.idle, all - before.all};
  }
  /// Nothing where the kernel's ticks are too coarse for so short a time.
  std::optional<double> idle_share() const {
    constexpr double kFewestTicks = 10;  // of 10 ms, all processors together
    return all >= kFewestTicks ? std::optional(idle / all) : std::nullopt;
  }
};

/// Since it booted.
inline ProcessorTime processor_time() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;  // "cpu": user nice system idle iowait irq softirq steal (guests are in user)
  ProcessorTime time;
  double value = 0;
  for (int column = 0; column < 8 && file >> value; ++column) {
    time.all += value;
    if (column == 3 || column == 4) time.idle += value;
  }
  return time;
}

}  // namespace thinpipe
