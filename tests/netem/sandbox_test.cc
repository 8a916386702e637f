#include "netem/sandbox.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "netem/file_descriptor.h"

namespace thinpipe {
namespace {

// Every process that inherited the writing end keeps the pipe open: its end of file says that all
// of them are gone. The alarm fails the test instead of hanging it.
class LifeLine {
 public:
  LifeLine() {
    int ends[2];
    if (pipe(ends) != 0) throw SystemError("pipe");
    read_ = FileDescriptor(ends[0]);
    write_ = FileDescriptor(ends[1]);
  }
  void announce() const { ASSERT_EQ(write(write_.get(), "x", 1), 1); }
  void wait_for_announcement() const {
    char byte;
    ASSERT_EQ(read(read_.get(), &byte, 1), 1);
  }
  void expect_all_gone() {
    write_.reset();
    alarm(20);
    char byte;
    ssize_t got;
    while ((got = read(read_.get(), &byte, 1)) > 0) {
    }
    alarm(0);
    EXPECT_EQ(got, 0);
  }

 private:
  FileDescriptor read_, write_;
};

void start_endless_process() {
  if (fork() == 0) {
    setsid();  // as daemons do
    for (;;) pause();
  }
}

TEST(Sandbox, ReturnsWhatTheBodyReturns) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) { return 7; }), 7);
}

TEST(Sandbox, TurnsErrorsIntoExitCodes) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) -> int { throw InputError("bad"); }), kExitUsage);
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) -> int { throw RunError("bad"); }), kExitFailed);
}

TEST(Sandbox, BodyIsTheFirstProcessWithAPrivateScratch) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox& sandbox) {
              if (getpid() != 1) return 1;
              std::ofstream file(sandbox.scratch + "/here");
              file << "x" << std::flush;
              return file ? 0 : 2;
            }),
            0);
  // Nothing of it is visible outside, nor to the next sandbox.
  EXPECT_NE(access("/proc/fs/here", F_OK), 0);
  EXPECT_EQ(run_in_sandbox([](const Sandbox& sandbox) {
              return access((sandbox.scratch + "/here").c_str(), F_OK) == 0 ? 1 : 0;
            }),
            0);
}

TEST(Sandbox, EndsEverythingItStartedWhenTheBodyReturns) {
  LifeLine life;
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              start_endless_process();
              return 0;
            }),
            0);
  life.expect_all_gone();
}

TEST(Sandbox, EndsWithItsCallerHoweverThatEnds) {
  LifeLine life;
  const pid_t caller = fork();
  ASSERT_GE(caller, 0);
  if (caller == 0) {
    run_in_sandbox([&](const Sandbox&) {
      start_endless_process();
      life.announce();
      for (;;) pause();
      return 0;
    });
    _exit(0);
  }
  life.wait_for_announcement();
  kill(caller, SIGKILL);
  waitpid(caller, nullptr, 0);
  life.expect_all_gone();
}

TEST(Sandbox, PassesAStopOnToTheBody) {
  LifeLine life;
  const pid_t caller = fork();
  ASSERT_GE(caller, 0);
  if (caller == 0) {
    const int result = run_in_sandbox([&](const Sandbox&) {
      life.announce();
      while (!stop_requested()) pause();
      return stop_signal() == SIGTERM ? 42 : 1;
    });
    _exit(result);
  }
  life.wait_for_announcement();
  kill(caller, SIGTERM);
  int status = 0;
  waitpid(caller, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  life.expect_all_gone();
}

}  // namespace
}  // namespace thinpipe
