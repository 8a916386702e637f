// Sandboxes leave nothing behind; limits, hosts and their programs inside; and the kernel's
// features that links need.
#include "netem/sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <string>

#include "base/error.h"
#include "netem/file_descriptor.h"
#include "netem/host.h"
#include "netem/host_program.h"
#include "netem/network.h"
#include "netem/probe.h"
#include "netem/real_nic/saved_qdiscs.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

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

// Looks again and again: a stop between a look and pause() would not end pause().
void await_stop() {
  while (!stop_requested()) usleep(1000);
}

// Makes sethostname() fail in this process and its children, as the filter of a container does.
void refuse_hostnames() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sethostname, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    throw SystemError("set a filter of system calls");
}

TEST(Sandbox, SaysWhatAContainerNeedsThatRefusesHostnames) {
  const auto run = [] {
    refuse_hostnames();
    _exit(run_in_sandbox([](const Sandbox&) { return kExitGood; }));
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(kExitFailed), "--cap-add NET_ADMIN,SYS_ADMIN");
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
  expect_in_sandbox(start_endless_process);
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
      await_stop();
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

// nohup sets SIGHUP to be ignored, here and in programs.
TEST(Sandbox, AHangupThatIsIgnoredStaysSo) {
  LifeLine life;
  const pid_t caller = fork();
  ASSERT_GE(caller, 0);
  if (caller == 0) {
    signal(SIGHUP, SIG_IGN);
    const int result = run_in_sandbox([&](const Sandbox&) {
      Network network(1);
      HostProgram program(network.host(0), {"sh", "-c", "kill -HUP $$; exit 5"});
      const int code = program.wait(10);
      life.announce();
      await_stop();
      return stop_signal() == SIGTERM ? code : 1;
    });
    _exit(result);
  }
  life.wait_for_announcement();
  kill(caller, SIGHUP);
  kill(caller, SIGTERM);
  int status = 0;
  waitpid(caller, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
  life.expect_all_gone();
}

TEST(Sandbox, AnErrorAfterAStopHasTheSignalsExitCode) {
  const auto interrupted = [](const Sandbox&) -> int {
    raise(SIGTERM);
    throw RunError("interrupted");
  };
  EXPECT_EQ(run_in_sandbox(interrupted), 128 + SIGTERM);
}

void lose(unsigned number) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  syscall(SYS_capget, &header, data);
  data[CAP_TO_INDEX(number)].effective &= ~CAP_TO_MASK(number);
  if (syscall(SYS_capset, &header, data) != 0) throw SystemError("capset");
}

TEST(Rights, ASandboxHasAllOfThem) {
  expect_in_sandbox([] { require(missing_rights().empty() && rights_advice().empty(), "all"); });
}

TEST(Rights, WhatIsMissingIsNamed) {
  expect_in_sandbox([] {
    Network network(2);
    lose(CAP_NET_ADMIN);
    require(missing_rights() == std::vector<std::string>{"CAP_NET_ADMIN"}, "one is missing");
    require_has(rights_advice(), "lacks CAP_NET_ADMIN,");
    // The kernel refuses; a setting never counts as done when only half of it is.
    require(!run_error([&] { network.set_links(parse_link_spec("rate=10mbit")); }).empty(),
            "links cannot be set");
    lose(CAP_SYS_ADMIN);
    require(missing_rights().size() == 2, "two are missing");
  });
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
    return run_error([] { allow_open_files(300, "a test"); })
        .starts_with("a test need 364 open files, but the limit is 200");
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

TEST(Host, AThreadReturnsToItsOwnNamespaces) {
  expect_in_sandbox([] {
    const Host first("first"), second("second");
    const std::string own = network_namespace_number();
    std::promise<void> entered;
    std::future<std::string> other = std::async(std::launch::async, [&] {
      entered.get_future().wait();
      second.inside([] {});
      return network_namespace_number();
    });
    std::string found;
    first.inside([&] {  // meanwhile the other thread enters and leaves the second host
      entered.set_value();
      found = other.get();
    });
    require(found == own, "the other thread is where it began");
  });
}

long long most_of(const char* file) {
  long long least = 0, initial = 0, most = 0;
  require(static_cast<bool>(std::ifstream(file) >> least >> initial >> most), file);
  return most;
}

TEST(TcpBuffers, GrowToWindowsAndNeverShrink) {
  expect_in_sandbox([] {
    const char* files[] = {"/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_wmem"};
    std::map<std::string, std::string> in_force;
    widen_tcp_buffers(40e6, in_force);
    for (const char* file : files)
      require(most_of(file) == 80'000'000, "twice the window, for the bookkeeping");
    for (const char* name : {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"})
      require(in_force.at(name).ends_with(" 80000000"), "it is noted");
    widen_tcp_buffers(1e6, in_force);
    for (const char* file : files) require(most_of(file) == 80'000'000, "it shrank");
  });
}

TEST(TuneTcp, TellsWhatIsInForce) {
  expect_in_sandbox([] {
    const auto in_force = tune_tcp();
    require(in_force.at("net.ipv4.tcp_slow_start_after_idle") == "0", "idle");
    require(in_force.contains("net.ipv4.tcp_congestion_control"), "congestion control");
  });
}

using Streams = HostProgram::Streams;

TEST(HostProgram, RunsInsideTheHost) {
  expect_in_sandbox([] {
    Network network(2);
    HostProgram links(network.host(0), {"cat", "/proc/self/net/dev"});
    require(links.wait(10) == 0, "exit code");
    require_has(links.output(), "thin0");
    HostProgram name(network.host(1), {"uname", "-n"});
    require(name.wait(10) == 0 && name.output() == "host1\n", "the host's name");
    HostProgram fails(network.host(0), {"sh", "-c", "echo what >&2; exit 3"});
    require(fails.wait(10) == 3 && fails.output() == "what\n", "its errors");
    HostProgram hangs(network.host(0), {"sleep", "100"});
    require(hangs.wait(0.1) == -1, "one that hangs is killed");
    HostProgram silent(network.host(0), {"sh", "-c", "exec >/dev/null 2>&1; sleep 100"});
    require(silent.wait(0.5) == -1, "so is one that hangs after its output");
  });
}

TEST(HostProgram, EndsAsAShellSays) {
  expect_in_sandbox([] {
    Network network(2);
    HostProgram code(network.host(0), {"sh", "-c", "exit 7"}, Streams::kOurs);
    require(code.wait_and_pass_on_stops() == 7, "exit code");
    HostProgram killed(network.host(0), {"sh", "-c", "kill -9 $$"}, Streams::kOurs);
    require(killed.wait_and_pass_on_stops() == 128 + 9, "signal");
    try {
      HostProgram missing(network.host(0), {"no-such-program"}, Streams::kOurs);
      throw InputError("a missing program ran");
    } catch (const SystemError& error) {
      require(error.error() == ENOENT, error.what());
    }
  });
}

TEST(HostProgram, IsKnownToListen) {
  expect_in_sandbox([] {
    Network network(2);
    const Host& host = network.host(1);
    require(listening_sockets(host) == 0, "none at first");
    HostProgram server(host, {"python3", "-c",
                              "import socket, time\n"
                              "door = socket.create_server(('', 7000))\n"
                              "time.sleep(100)"});
    require(server.wait_until_listening(0, 20), "one that listens");
    require(listening_sockets(host) == 1, "it is one");
    require(listening_sockets(network.host(0)) == 0, "of its own host");
    HostProgram silent(host, {"true"});
    require(!silent.wait_until_listening(1, 20), "one that ends is not waited for");
  });
}

// A process whose parent has ended becomes a child of the sandbox's first process.
TEST(HostProgram, OrphansAreCollectedWhileAnotherRuns) {
  expect_in_sandbox([] {
    Network network(1);
    HostProgram ended(network.host(0), {"true"});  // nobody asks for it meanwhile
    // kill -0 succeeds for a zombie too.
    HostProgram program(network.host(0),
                        {"sh", "-c",
                         "orphan=$(sh -c 'sleep 0.1 >/dev/null & echo $!'); sleep 0.3; "
                         "for i in $(seq 100); do kill -0 $orphan 2>/dev/null || exit 6; "
                         "sleep 0.05; done"},
                        Streams::kOurs);
    require(program.wait_and_pass_on_stops() == 6, "the orphan is gone");
    require(ended.wait_and_pass_on_stops() == 0, "the other one's exit code");
  });
}

TEST(HostProgram, ASignalToTheGroupReachesWhatItStarted) {
  expect_in_sandbox([] {
    Network network(1);
    HostProgram program(network.host(0), {"sh", "-c", "sleep 100"}, Streams::kOursButInput);
    HostProgram wrapper(network.host(0), {"sh", "-c", "sleep 100; exit 1"}, Streams::kOursButInput);
    program.signal_group(SIGTERM);
    wrapper.signal_group(SIGKILL);
    require(program.wait_and_pass_on_stops() == 128 + SIGTERM, "SIGTERM");
    require(wrapper.wait_and_pass_on_stops() == 128 + SIGKILL, "SIGKILL");
  });
}

// The message of a kernel that has all features except `lacking`.
std::string missing(const char* link, KernelFeature KernelFeatures::*lacking = nullptr) {
  const KernelFeature yes{true, "made"};
  KernelFeatures features{yes, yes, yes, yes, yes, yes, yes};
  if (lacking != nullptr) features.*lacking = {false, "no such module"};
  return missing_for(parse_link_spec(link), features);
}

TEST(MissingFor, IsNothingWhereTheKernelHasAll) {
  for (const char* link : {"rate=1mbit", "rate=1mbit,shaper=htb", "lte", "rate=1mbit,place=switch"})
    EXPECT_EQ(missing(link), "") << link;
}

TEST(MissingFor, NamesLinkFeatureRemedyAndWhatWorks) {
  EXPECT_EQ(missing("rate=1mbit,queue=64kb,mtu=9000", &KernelFeatures::netem), "");
  const std::string message = missing("rate=1mbit,delay=10ms", &KernelFeatures::netem);
  for (const char* part : {"rate=1mbit,delay=10ms", "needs netem", "no such module",
                           "modprobe sch_netem", "links with rate, burst"})
    EXPECT_THAT(message, HasSubstr(part));
  EXPECT_EQ(missing("rate=1mbit,delay=10ms", &KernelFeatures::ifb), "");
  EXPECT_NE(missing("rate=1mbit,up.delay=10ms", &KernelFeatures::ifb), "");
  EXPECT_NE(missing("rate=1mbit,place=switch", &KernelFeatures::ifb), "");
  EXPECT_EQ(missing("rate=1mbit", &KernelFeatures::htb), "");
  EXPECT_NE(missing("rate=1mbit,shaper=htb", &KernelFeatures::htb), "");
}

TEST(RequireKernelFeatures, SaysWhatThisKernelLacks) {
  EXPECT_NO_THROW(require_kernel_features({parse_link_spec("rate=1mbit")}));
  const std::vector<LinkSpec> links = {parse_link_spec("rate=1mbit"), parse_link_spec("wan-100ms")};
  if (probe_kernel().netem.available)
    EXPECT_NO_THROW(require_kernel_features(links));
  else
    EXPECT_THROW(require_kernel_features(links), RunError);
}

// A wrong file name must not end a sweep whose first points are measured.
TEST(RequireKernelFeatures, ReadsTheTablesOfDistributions) {
  const LinkSpec link = parse_link_spec("delay=1ms,jitter=1ms,dist=table:/nowhere.dist");
  EXPECT_THAT(input_error([&] { require_kernel_features({link}); }),
              HasSubstr("/nowhere.dist: cannot read it"));
}

}  // namespace
}  // namespace thinpipe
