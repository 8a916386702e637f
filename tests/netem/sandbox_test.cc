// Sandboxes leave nothing behind, and limits are in force in them.
#include "netem/sandbox.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "base/error.h"
#include "netem/file_descriptor.h"
#include "netem/limits.h"
#include "netem/network.h"

namespace thinpipe {
namespace {

// Every process that inherited the writing end keeps the pipe open, so the pipe's end of file shows
// that all these processes are gone. The alarm makes the test fail instead of hang.
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

void lose(unsigned number) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  syscall(SYS_capget, &header, data);
  data[CAP_TO_INDEX(number)].effective &= ~CAP_TO_MASK(number);
  if (syscall(SYS_capset, &header, data) != 0) throw SystemError("capset");
}

TEST(Rights, ASandboxHasAllOfThem) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              return missing_rights().empty() && rights_advice().empty() ? 0 : 1;
            }),
            0);
}

TEST(Rights, WhatIsMissingIsNamed) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              lose(CAP_NET_ADMIN);
              if (missing_rights() != std::vector<std::string>{"CAP_NET_ADMIN"}) return 1;
              if (rights_advice().find("lacks CAP_NET_ADMIN,") == std::string::npos) return 2;
              try {
                network.set_links(parse_link_spec("rate=10mbit"));
                return 3;
              } catch (const RunError&) {
                // The kernel refuses; a setting never counts as done when only half of it is.
              }
              lose(CAP_SYS_ADMIN);
              return missing_rights().size() == 2 ? 0 : 4;
            }),
            0);
}

// Limits once lowered stay so: each test has a process of its own.
bool holds_in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

rlim_t files_allowed() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

bool limit_files(rlim_t soft, rlim_t hard) {
  const rlimit limit = {soft, hard};
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

TEST(Limits, OpenFilesAreRaisedAsFarAsNeededAndNoFurther) {
  EXPECT_TRUE(holds_in_child([] {
    if (!limit_files(100, 1000)) return false;
    allow_open_files(10, "a test");  // 74 in all
    if (files_allowed() != 100) return false;
    allow_open_files(300, "a test");
    return files_allowed() == 364;
  }));
}

TEST(Limits, AHardLimitOfOpenFilesIsNamed) {
  EXPECT_TRUE(holds_in_child([] {
    if (!limit_files(100, 200)) return false;
    try {
      allow_open_files(300, "a test");
    } catch (const RunError& error) {
      return std::string(error.what()).find("a test need 364 open files, but the limit is 200") !=
             std::string::npos;
    }
    return false;
  }));
}

TEST(Limits, ProcessesAreRaisedToTheHardLimit) {
  EXPECT_TRUE(holds_in_child([] {
    rlimit limit = {};
    getrlimit(RLIMIT_NPROC, &limit);
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > 5000) limit.rlim_max = 5000;
    limit.rlim_cur = limit.rlim_max - 1;
    if (setrlimit(RLIMIT_NPROC, &limit) != 0) return false;
    allow_processes();
    getrlimit(RLIMIT_NPROC, &limit);
    return limit.rlim_cur == limit.rlim_max;
  }));
}

TEST(Limits, ATightLimitOfProcessesIsToldWithItsName) {
  EXPECT_TRUE(holds_in_child([] {
    const rlimit limit = {3, 3};
    if (setrlimit(RLIMIT_NPROC, &limit) != 0) return false;
    return process_limit_below(2).empty() &&
           process_limit_below(10) == "the limit of processes and threads is 3 (ulimit -u)";
  }));
}

}  // namespace

}  // namespace thinpipe
