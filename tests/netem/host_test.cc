// Hosts: their TCP, programs inside them, and the kernel's features that links need.
#include "netem/host.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "base/error.h"
#include "netem/host_program.h"
#include "netem/network.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

long long most_of(const char* file) {
  long long least = 0, initial = 0, most = 0;
  require(static_cast<bool>(std::ifstream(file) >> least >> initial >> most), file);
  return most;
}

TEST(TcpBuffers, GrowToWindowsAndNeverShrink) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              const char* files[] = {"/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_wmem"};
              std::map<std::string, std::string> in_force;
              widen_tcp_buffers(40e6, in_force);
              for (const char* file : files)
                require(most_of(file) == 80'000'000, "twice the window, for the bookkeeping");
              require(in_force.at("net.ipv4.tcp_rmem").ends_with(" 80000000"), "it is noted");
              require(in_force.at("net.ipv4.tcp_wmem").ends_with(" 80000000"), "it is noted");
              widen_tcp_buffers(1e6, in_force);
              for (const char* file : files) require(most_of(file) == 80'000'000, "it shrank");
              return 0;
            }),
            0);
}

TEST(TuneTcp, TellsWhatIsInForce) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              const auto in_force = tune_tcp();
              require(in_force.at("net.ipv4.tcp_slow_start_after_idle") == "0", "idle");
              require(in_force.contains("net.ipv4.tcp_congestion_control"), "congestion control");
              return 0;
            }),
            0);
}

using Streams = HostProgram::Streams;

void must(bool condition, const char* what) {
  if (!condition) throw RunError(what);
}

TEST(HostProgram, RunsInsideTheHost) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              HostProgram links(network.host(0), {"cat", "/proc/self/net/dev"});
              must(links.wait(10) == 0, "exit code");
              must(links.output().find("thin0") != std::string::npos, "the host's interface");
              HostProgram name(network.host(1), {"uname", "-n"});
              must(name.wait(10) == 0 && name.output() == "host1\n", "the host's name");
              HostProgram fails(network.host(0), {"sh", "-c", "echo what >&2; exit 3"});
              must(fails.wait(10) == 3 && fails.output() == "what\n", "its errors");
              HostProgram hangs(network.host(0), {"sleep", "100"});
              must(hangs.wait(0.1) == -1, "one that hangs is killed");
              return 0;
            }),
            0);
}

TEST(HostProgram, EndsAsAShellSays) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              HostProgram code(network.host(0), {"sh", "-c", "exit 7"}, Streams::kOurs);
              must(code.wait_and_pass_on_stops() == 7, "exit code");
              HostProgram killed(network.host(0), {"sh", "-c", "kill -9 $$"}, Streams::kOurs);
              must(killed.wait_and_pass_on_stops() == 128 + 9, "signal");
              try {
                HostProgram missing(network.host(0), {"no-such-program"}, Streams::kOurs);
              } catch (const SystemError& error) {
                return error.error() == ENOENT ? 0 : 1;
              }
              return 1;
            }),
            0);
}

TEST(HostProgram, IsKnownToListen) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              const Host& host = network.host(1);
              must(listening_sockets(host) == 0, "none at first");
              HostProgram server(host, {"python3", "-c",
                                        "import socket, time\n"
                                        "door = socket.create_server(('', 7000))\n"
                                        "time.sleep(100)"});
              must(server.wait_until_listening(0, 20), "one that listens");
              must(listening_sockets(host) == 1, "it is one");
              must(listening_sockets(network.host(0)) == 0, "of its own host");
              HostProgram silent(host, {"true"});
              must(!silent.wait_until_listening(1, 20), "one that ends is not waited for");
              return 0;
            }),
            0);
}

KernelFeatures all_there() {
  const KernelFeature yes{true, "made"};
  return {.namespaces = yes,
          .veth = yes,
          .bridge = yes,
          .ifb = yes,
          .tbf = yes,
          .htb = yes,
          .netem = yes};
}

TEST(MissingFor, IsNothingWhereTheKernelHasAll) {
  for (const char* link : {"rate=1mbit", "rate=1mbit,shaper=htb", "lte", "rate=1mbit,place=switch"})
    EXPECT_EQ(missing_for(parse_link_spec(link), all_there()), "") << link;
}

TEST(MissingFor, NamesLinkFeatureRemedyAndWhatWorks) {
  KernelFeatures features = all_there();
  features.netem = {false, "no sch_netem"};
  EXPECT_EQ(missing_for(parse_link_spec("rate=1mbit,queue=64kb,mtu=9000"), features), "");
  const std::string message = missing_for(parse_link_spec("rate=1mbit,delay=10ms"), features);
  for (const char* part : {"rate=1mbit,delay=10ms", "needs netem", "no sch_netem",
                           "modprobe sch_netem", "links with rate, burst"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  features = all_there();
  features.ifb = {false, "no ifb"};
  EXPECT_EQ(missing_for(parse_link_spec("rate=1mbit,delay=10ms"), features), "");
  EXPECT_NE(missing_for(parse_link_spec("rate=1mbit,up.delay=10ms"), features), "");
  EXPECT_NE(missing_for(parse_link_spec("rate=1mbit,place=switch"), features), "");
  features = all_there();
  features.htb = {false, "no sch_htb"};
  EXPECT_EQ(missing_for(parse_link_spec("rate=1mbit"), features), "");
  EXPECT_NE(missing_for(parse_link_spec("rate=1mbit,shaper=htb"), features), "");
}

TEST(RequireKernelFeatures, SaysWhatThisKernelLacks) {
  EXPECT_NO_THROW(require_kernel_features({parse_link_spec("rate=1mbit")}));
  const std::vector<LinkSpec> links = {parse_link_spec("rate=1mbit"), parse_link_spec("wan-100ms")};
  if (probe_kernel().netem.available)
    EXPECT_NO_THROW(require_kernel_features(links));
  else
    EXPECT_THROW(require_kernel_features(links), RunError);
}

}  // namespace

}  // namespace thinpipe
