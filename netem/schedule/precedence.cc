#include "netem/schedule/precedence.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace thinpipe {

void take_precedence() {
  prctl(PR_SET_TIMERSLACK, 1UL);  // else every wait may end 50 us late
  const sched_param parameters = {.sched_priority = 1};
  constexpr int kNicest = -20;
  if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) != 0)
    setpriority(PRIO_PROCESS, 0, kNicest);  // of this thread alone, on Linux; may be refused too
}

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace thinpipe
