#include "netem/verify/machine_watch.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/clock.h"

namespace thinpipe {
namespace {

/// A process that uses CPU time at a priority, then waits to be ended.
class Spinner {
 public:
  Spinner(int policy, double seconds) {
    int ends[2];
    if (pipe(ends) != 0) ADD_FAILURE() << "pipe";
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const sched_param none{};
      sched_setscheduler(0, policy, &none);
      while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < seconds) {
      }
      if (write(ends[1], "x", 1) == 1) pause();
      _exit(1);
    }
    close(ends[1]);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    close(ends[0]);
  }
  ~Spinner() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;
  pid_t process() const { return process_; }

 private:
  pid_t process_;
};

TEST(IdlePriority, CountsProcessesThatGiveWay) {
  const IdlePriority before;
  const Spinner idle(SCHED_IDLE, 0.2);
  EXPECT_GE(before.seconds(), 0.2 - 2 * 0.01);  // ticks of 10 ms, of user and system time
}

TEST(IdlePriority, DoesNotCountOthers) {
  const Spinner other(SCHED_OTHER, 0.2);
  const Spinner idle(SCHED_IDLE, 0);
  EXPECT_FALSE(IdlePriority::times().contains(other.process()));
  EXPECT_TRUE(IdlePriority::times().contains(idle.process()));
}

}  // namespace
}  // namespace thinpipe
