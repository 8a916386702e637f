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

/// Returns the seconds of the monotonic clock from `begin` to now.
inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Returns the clock of the CPU time of work on `threads` threads. With helper threads it is the
/// process's clock, so that their time counts too.
inline clockid_t processor_clock(int threads) {
  return threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;
}

/// Seconds that every clock of thinpipe can hold, some of which count nanoseconds in 63 bits
/// (9.2e9 s): 126 years. A trace's times can exceed it after time dilation and a straggler's
/// factor.
inline constexpr double kLastMoment = 4e9;

/// Waits until `seconds` of the monotonic clock, at most until kLastMoment. Captured compute time
/// passes in this way while other ranks have the cores.
inline void wait_until(double seconds) {
  if (!(seconds < kLastMoment)) seconds = kLastMoment;
  const auto whole = static_cast<time_t>(seconds);
  const timespec until = {whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

/// Waits as wait_until() does, but stays awake for the last moment, so that neither a timer's
/// lateness nor a sleeping core delays the return. Other threads that want the core meanwhile get
/// it. This thread then moves to an idle core, if there is one: the kernel looks for one when a
/// thread wakes up, and otherwise only a few milliseconds later.
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
