#include "netem/host_program.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/error.h"
#include "netem/network.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

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

}  // namespace
}  // namespace thinpipe
