// The monotonic clock, CPU time, and waiting until a moment.
#pragma once

#include <sched.h>
#include <time.h>

#include <chrono>

namespace thinpipe {

/// Returns the seconds of a clock, by default of the monotonic clock, which is the same for all
/// processes of the machine.
inline double now_seconds(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Returns a duration in seconds.
inline double in_seconds(std::chrono::duration<double> time) { return time.count(); }

/// Returns the seconds of the monotonic clock from `begin` to now.
inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return in_seconds(std::chrono::steady_clock::now() - begin);
}

/// Returns the clock that measures the CPU time of work on `threads` threads. For one thread it is
/// the thread's clock. For several it is the process's clock, so that the time of helper threads
/// counts too.
inline clockid_t processor_clock(int threads) {
  return threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;
}

/// Upper limit of times in seconds: 126 years. Every clock of thinpipe can hold it: those that
/// count nanoseconds in 63 bits reach 9.2e9 s. A trace's times can exceed the limit, because time
/// dilation and stragglers multiply them.
inline constexpr double kLastMoment = 4e9;

/// Sleeps until the monotonic clock shows `seconds`, at most until kLastMoment. A rank replays
/// captured compute time by this sleep, so that other ranks can use the core.
inline void wait_until(double seconds) {
  if (!(seconds < kLastMoment)) seconds = kLastMoment;
  const auto whole = static_cast<time_t>(seconds);
  const timespec until = {whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

/// Waits as wait_until() does, but stays awake for the last moment (kAwake), so that neither a late
/// timer nor a sleeping core delays the return. While awake, this thread yields its core to any
/// other thread that wants it. If another thread did run, this thread sleeps for an instant: when a
/// thread wakes up, the kernel looks for an idle core, so this thread moves there at once instead
/// of a few milliseconds later.
inline void wait_awake_until(double seconds) {
  constexpr double kLate = 60e-6;  // greatest lateness of a virtual machine's timers
  constexpr double kAwake = 150e-6;
  constexpr double kOther = 2e-6;  // least duration of a yield that let another thread run
  constexpr timespec kNap = {0, 1};
  if (now_seconds() < seconds - kAwake) wait_until(seconds - kAwake);
  for (double now = now_seconds(); now < seconds;) {
    const double before = now;
    sched_yield();
    now = now_seconds();
    if (now - before > kOther && now < seconds - kLate) nanosleep(&kNap, nullptr);
  }
}

}  // namespace thinpipe
