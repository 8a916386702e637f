#include "netem/verify/machine_watch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/statistics.h"
#include "base/units.h"

namespace thinpipe {
namespace {

constexpr double kWait = 2e-3;  // s

}  // namespace

std::string Disturbance::reason(double limit) const {
  if (idle && *idle < kMinIdle) return fmt::format("idle {:.1f} %", 100 * *idle);
  if (late_p95 > kLateSeconds)
    return fmt::format("5 % of timed waits overran by {} or more", format_time(late_p95));
  if (stalled > limit)
    return fmt::format("timed waits overran for {:.1f} % of the time", 100 * stalled);
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
          .repeated = std::max(a.repeated, b.repeated)};
}

MachineWatch::MachineWatch() : begin_(now_seconds()), thread_([this] { run(); }) {}

MachineWatch::~MachineWatch() {
  if (thread_.joinable()) stop();
}

void MachineWatch::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are the main thread's
  prctl(PR_SET_TIMERSLACK, 1);                // ns, as for ranks and schedule players
  do {                                        // at least once, even in a short measurement
    const double due = now_seconds() + kWait;
    wait_until(due);
    late_.push_back(now_seconds() - due);
  } while (!done_);
}

Disturbance MachineWatch::stop(double spare) {
  done_ = true;
  thread_.join();
  const ProcessorTime after = processor_time();
  Disturbance found;
  const double ticks = spare * static_cast<double>(sysconf(_SC_CLK_TCK));
  found.idle =
      ProcessorTime{after.idle - before_.idle + ticks, after.all - before_.all}.idle_share();
  found.late_p95 = quantile(late_, 0.95);
  for (const double late : late_) found.stalled += std::max(0.0, late - kStallSeconds);
  found.stalled /= now_seconds() - begin_;
  return found;
}

}  // namespace thinpipe
