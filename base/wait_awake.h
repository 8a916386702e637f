// Waiting until a moment at which work must begin at once.
#pragma once

#include <sched.h>

#include "base/clock.h"

namespace thinpipe {

/// As wait_until(), but awake for the last moment: no timer's lateness, and a core that has not
/// gone to sleep. Who else wants the core meanwhile has it; and a core that somebody else wants is
/// left for an idle one, if there is any, which the kernel looks for when a thread wakes up, and
/// otherwise a few milliseconds later.
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
