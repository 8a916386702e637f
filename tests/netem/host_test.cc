#include "netem/host.h"

#include <gtest/gtest.h>

#include <fstream>

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

}  // namespace

}  // namespace thinpipe
