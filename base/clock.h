// The monotonic clock, processor time, and waiting until a moment.
#pragma once

#include <sched.h>
#include <time.h>

#include <chrono>

namespace thinpipe {

/// Seconds of the monotonic clock, the same for all processes of the machine.
inline double now_seconds(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Seconds of the monotonic clock from `begin` to now.
inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The clock of the processor time of work on so many threads: with helpers, theirs counts too.
inline clockid_t processor_clock(int threads) {
  return threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID;
}

/// Seconds that every clock here can hold, some of which count nanoseconds in 63 bits (9.2e9 s):
/// 126 years. Stretched by a time scale and a straggler, a trace's times can be longer.
inline constexpr double kLastMoment = 4e9;

/// Waits until that moment, or kLastMoment: the captured compute time passes while other ranks have
/// the cores.
inline void wait_until(double seconds) {
  if (!(seconds < kLastMoment)) seconds = kLastMoment;
  const auto whole = static_cast<time_t>(seconds);
  const timespec until = {whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
  }
}

/// As wait_until(), but awake for the last moment: no timer's lateness, and a core that has not
/// gone to sleep. Other threads that want the core meanwhile get it. This thread then leaves for an
/// idle core, if there is any: the kernel looks for one when a thread wakes up, and otherwise a few
/// milliseconds later.
inline void wait_awake_until(double seconds) {
  constexpr double kLate = 60e-6;  // what a virtual machine's timers are late at most
  constexpr double kAwake = 150e-6;
  constexpr double kOther = 2e-6;  // what a yield takes that has let somebody else run
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
