#include "netem/verify/machine_watch.h"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"
#include "netem/sandbox.h"

namespace thinpipe {

std::string Disturbance::reason(double limit) const {
  if (idle && *idle < kMinIdle) return fmt::format("idle {:.1f} %", 100 * *idle);
  if (late_p95 > kLateSeconds)
    return fmt::format("5 % of timed waits overran by {} or more", format_time(late_p95));
  if (stalled > limit)
    return fmt::format("timed waits overran for {:.1f} % of the time", 100 * stalled);
  if (stolen > limit) return fmt::format("the hypervisor took {:.1f} % of the time", 100 * stolen);
  if (repeated > limit)
    return fmt::format("{:.1f} % of the payload retransmitted spuriously", 100 * repeated);
  return "";
}

Disturbance worse_of(const Disturbance& a, const Disturbance& b) {
  return {.idle = a.idle && b.idle ? std::min(a.idle, b.idle)
                  : a.idle         ? a.idle
                                   : b.idle,
          .late_p95 = std::max(a.late_p95, b.late_p95),
          .stalled = std::max(a.stalled, b.stalled),
          .stolen = std::max(a.stolen, b.stolen),
          .repeated = std::max(a.repeated, b.repeated)};
}

IdlePriority::IdlePriority()
    : began_(now_seconds(CLOCK_BOOTTIME) * static_cast<double>(sysconf(_SC_CLK_TCK))),
      before_(times()) {}

double IdlePriority::seconds() const {
  double ticks = 0;
  for (const auto& [process, now] : times()) {
    // A process without an earlier value is new, or had another priority before.
    const auto before = before_.find(process);
    if (before != before_.end())
      ticks += now.used - before->second.used;
    else if (now.started + 1 >= began_)  // the kernel rounds down
      ticks += now.used;
  }
  return std::max(0.0, ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// Reads N/stat of /proc: "N (name) state ...", see proc(5). The name may have blanks and
// parentheses.
std::map<int, IdlePriority::Process> IdlePriority::times() {
  // Among the fields after the name.
  constexpr std::size_t kUser = 11, kSystem = 12, kStart = 19, kPolicy = 38;
  std::map<int, Process> found;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(machine_proc(), failure)) {
    const auto process = parse_number<int>(entry.path().filename().string(), 1, INT32_MAX);
    if (!process) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text, '\0');  // the whole file; empty if the process has ended
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;  // the process has ended
    const std::vector<std::string> fields = words_in(text.substr(name_end + 1));
    if (fields.size() <= kPolicy || fields[kPolicy] != std::to_string(SCHED_IDLE)) continue;
    const auto user = parse_number<double>(fields[kUser], 0, 1e18);
    const auto system = parse_number<double>(fields[kSystem], 0, 1e18);
    const auto start = parse_number<double>(fields[kStart], 0, 1e18);
    if (user && system && start) found[*process] = {.used = *user + *system, .started = *start};
  }
  return found;
}

MachineWatch::MachineWatch()
    : begin_(now_seconds()), thread_([this](const std::stop_token& ending) { run(ending); }) {}

void MachineWatch::run(const std::stop_token& ending) {
  constexpr double kWait = 2e-3;  // s
  block_signals();
  prctl(PR_SET_TIMERSLACK, 1);  // ns, as for ranks and schedule players
  do {                          // at least once, even in a short measurement
    const double due = now_seconds() + kWait;
    wait_until(due);
    late_.push_back(now_seconds() - due);
  } while (!ending.stop_requested());
}

Disturbance MachineWatch::stop(double spare) {
  thread_.request_stop();
  thread_.join();
  const double beside = beside_.seconds();
  const ProcessorTime spent = processor_time() - before_;
  Disturbance found;
  const double ticks = (spare + beside) * static_cast<double>(sysconf(_SC_CLK_TCK));
  found.idle = ProcessorTime{std::min(spent.idle + ticks, spent.all), spent.all}.idle_share();
  found.late_p95 = quantile(late_, 0.95);
  for (const double late : late_) found.stalled += std::max(0.0, late - kStallSeconds);
  const double seconds = now_seconds() - begin_;
  found.stalled /= seconds;
  found.stolen = spent.stolen / static_cast<double>(sysconf(_SC_CLK_TCK)) / seconds;
  return found;
}

}  // namespace thinpipe
