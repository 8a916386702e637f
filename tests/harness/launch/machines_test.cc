// Machines that a run starts on: counted, emulated, or named by a user; the socket to their ranks,
// and the calibration of their links.
#include "harness/launch/machines.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/error.h"
#include "harness/hosts/hosts.h"
#include "harness/launch/calibration.h"
#include "harness/launch/control_socket.h"
#include "harness/launch/emulated_machines.h"
#include "harness/launch/launch.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

using Names = std::vector<std::string>;
using Verdict = CalibratedLink::Verdict;

WireCount counted(std::uint64_t sent, std::uint64_t drops, std::vector<ThroughSwitch> switches,
                  std::vector<WireCount::OnTrunk> trunks) {
  WireCount count;
  count.sent = sent;
  count.drops = drops;
  count.switches = std::move(switches);
  count.trunks = std::move(trunks);
  return count;
}

TEST(Wire, CountsWhatCameBetweenTwoReadings) {
  const WireCount before = counted(100, 1, {{"rack0", 50, 40}}, {{"rack0-spine", 10, 20, 1}});
  const WireCount after = counted(400, 3, {{"rack0", 350, 240}}, {{"rack0-spine", 110, 70, 2}});
  const WireCount count = between(before, after);
  EXPECT_EQ(count.sent, 300U);
  EXPECT_EQ(count.drops, 2U);
  EXPECT_EQ(count.switches[0].in, 300U);
  EXPECT_EQ(count.switches[0].out, 200U);
  EXPECT_EQ(trunks_json(count).dump(),
            R"([{"down_bytes":50,"drops":1,"link":"rack0-spine","up_bytes":100}])");
}

TEST(Wire, CountsEachHostsSegments) {
  WireCount before, after;
  before.segments_by = {1000, 2000};
  before.retransmitted_by = {0, 5};
  after.segments_by = {1500, 2001};
  after.retransmitted_by = {0, 7};
  const WireCount count = between(before, after);
  EXPECT_EQ(count.segments_by, (std::vector<std::uint64_t>{500, 1}));
  EXPECT_EQ(count.retransmitted_by, (std::vector<std::uint64_t>{0, 2}));
}

// A qdisc that was replaced counts from 0 again: that is no enormous number of bytes.
TEST(Wire, ACounterThatWentBackIsTold) {
  const WireCount before = counted(400, 0, {{"switch", 50, 40}}, {});
  WireCount after = counted(450, 0, {{"switch", 60, 45}}, {});
  EXPECT_FALSE(between(before, after).restarted);
  after.switches[0].out = 39;
  EXPECT_TRUE(between(before, after).restarted);
  EXPECT_EQ(between(before, after).switches[0].out, 0U);
}

// Where no other run of this machine is seen.
class OtherRunsTest : public ::testing::Test {
 protected:
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));  // nothing is created in it
  }
  const TemporaryFolder folder_;
  EnvironmentVariable place_{"TMPDIR", folder_.path()};
};

TEST_F(OtherRunsTest, NobodySeesItself) { EXPECT_FALSE(OtherRuns().any()); }

TEST_F(OtherRunsTest, EachSeesTheOtherAsLongAsItIsThere) {
  const OtherRuns one;
  auto two = std::make_unique<OtherRuns>();
  EXPECT_TRUE(one.any());
  EXPECT_TRUE(two->any());
  two.reset();
  EXPECT_FALSE(one.any());
}

TEST_F(OtherRunsTest, ASandboxedChildIsNoOther) {
  const OtherRuns one;
  const pid_t child = fork();
  if (child == 0) _exit(one.any() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(OtherRunsTest, AKilledOneIsGone) {
  const OtherRuns one;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const OtherRuns two;
    if (::write(ready[1], "x", 1) == 1) pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(one.any());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(one.any());
  close(ready[0]);
  close(ready[1]);
}

TEST_F(OtherRunsTest, AFolderThatIsNotThereHidesEverybody) {
  place_.set("/nonexistent");
  const OtherRuns one, two;
  EXPECT_FALSE(one.any());
}

class Hostfile : public ::testing::Test {
 protected:
  Names read(const std::string& text) {
    std::ofstream(path_) << text << std::flush;
    return read_hostfile(path_);
  }
  std::string refusal(const std::string& text) {
    return input_error([&] { read(text); });
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "hosts";
};

TEST_F(Hostfile, NamesCommentsAndSlots) {
  EXPECT_EQ(read("# our rack\nnode1 slots=4\n\n  node2\tslots=2 max_slots=8 # the old one\n"
                 "10.0.0.7\nfe80::1\r\nroot@node-3.example.org\n"),
            (Names{"node1", "node2", "10.0.0.7", "fe80::1", "root@node-3.example.org"}));
  EXPECT_EQ(read("one"), Names{"one"});  // without a newline at the end
}

TEST_F(Hostfile, ErrorsNameFileAndLine) {
  for (const auto& [text, complaint] :
       {std::pair{"a\nb\na\n", ":3: 'a' is already in line 1; a machine gets one rank"},
        {"a\n-oProxyCommand=x\n", ":2: '-oProxyCommand=x' is not the name of a machine"},
        {"a;reboot\n", ":1: 'a;reboot' is not the name of a machine"},
        {"# nobody\n\n", ": names no machine; expected one on each line"}})
    EXPECT_EQ(refusal(text), path_ + complaint);
  for (const std::string slots : {"slot=4", "slots=0", "slots=four"})
    EXPECT_EQ(refusal("a " + slots + "\n"),
              path_ + ":1: '" + slots + "' after 'a': expected slots=N or max_slots=N");
}

TEST_F(Hostfile, AFileThatIsNotThere) {
  EXPECT_THROW(read_hostfile("/nonexistent/hosts"), InputError);
  EXPECT_THROW(read_hostfile(::testing::TempDir()), InputError);  // a folder
}

TEST(NodeList, RangesListsAndWidths) {
  EXPECT_EQ(expand_node_list("login"), Names{"login"});
  EXPECT_EQ(expand_node_list("node[01-03,7],gpu1"),
            (Names{"node01", "node02", "node03", "node7", "gpu1"}));
  EXPECT_EQ(expand_node_list("n[9-11]"), (Names{"n9", "n10", "n11"}));
  EXPECT_EQ(expand_node_list("n[098-101]"), (Names{"n098", "n099", "n100", "n101"}));
  EXPECT_EQ(expand_node_list("r[1-2]c[0-1]-x"), (Names{"r1c0-x", "r1c1-x", "r2c0-x", "r2c1-x"}));
}

TEST(NodeList, WhatCannotBeRead) {
  for (const char* bad :
       {"", ",a", "a,", "a,,b", "n[1-2", "n1-2]", "n[]", "n[2-1]", "n[a-b]", "n[1-]", "n[1,]",
        "n[[1]]", "n[0-999999999]", "n[0-999]n[0-999]", "n[1-99999999999]"})
    EXPECT_THROW(expand_node_list(bad), InputError) << bad;
}

class Slurm : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NODELIST",
                             "SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_TASKS"})
      unsetenv(name);
  }
};

TEST_F(Slurm, TheNodesOfAnAllocation) {
  setenv("SLURM_JOB_ID", "4711", 1);
  setenv("SLURM_JOB_NODELIST", "node[1-2]", 1);
  EXPECT_EQ(slurm_nodes(), (Names{"node1", "node2"}));
  setenv("SLURM_JOB_NUM_NODES", "2", 1);
  EXPECT_EQ(slurm_nodes(), (Names{"node1", "node2"}));
  setenv("SLURM_JOB_NUM_NODES", "3", 1);
  EXPECT_THROW(slurm_nodes(), InputError);
  unsetenv("SLURM_JOB_NUM_NODES");
  unsetenv("SLURM_JOB_NODELIST");
  setenv("SLURM_NODELIST", "old[7-8]", 1);
  EXPECT_EQ(slurm_nodes(), (Names{"old7", "old8"}));
}

TEST_F(Slurm, OneTaskOfSeveralIsRefused) {
  setenv("SLURM_JOB_ID", "4711", 1);
  setenv("SLURM_JOB_NODELIST", "node[1-2]", 1);
  setenv("SLURM_STEP_NUM_TASKS", "1", 1);  // srun -N 1 -n 1
  EXPECT_EQ(slurm_nodes(), (Names{"node1", "node2"}));
  setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  EXPECT_THROW(slurm_nodes(), InputError);
}

TEST_F(Slurm, ListsThatExpandToTooManyAreRefusedBeforeTheyAreMade) {
  EXPECT_EQ(expand_node_list("n[0-65535]").size(), 65536U);
  for (const char* list : {"n[0-65536]", "n[0-65535][0-65535]", "n[0-65535,0]", "n[0-65535],m",
                           "n[0-99999][0-99999][0-99999]", "n[0-4294967296]", "n[-1-2]", "n[1--2]"})
    EXPECT_THROW(expand_node_list(list), InputError) << list;
}

TEST_F(Slurm, OutsideAnAllocation) {
  setenv("SLURM_JOB_NODELIST", "node[1-2]", 1);
  EXPECT_THROW(slurm_nodes(), InputError);
}

class Door : public ::testing::Test {
 protected:
  void TearDown() override { unsetenv(kTokenVariable); }
  std::string port() const { return door_.where().substr(4, door_.where().find(':', 4) - 4); }

  ControlDoor door_{{"127.0.0.1"}};
};

TEST_F(Door, LetsInWhoKnowsTheSecretAndKeepsMessagesApart) {
  setenv(kTokenVariable, door_.token().c_str(), 1);
  std::thread rank([&] {
    const MessageSocket socket = connect_to_sweep(door_.where());
    while (const auto message = socket.receive()) socket.send(*message);
  });
  {
    const auto socket = door_.accept();
    ASSERT_TRUE(socket.has_value());
    const std::string long_text(300'000, 'x');  // more than fits into a UNIX packet
    socket->send({{"n", 1}});
    socket->send({{"text", long_text}});
    EXPECT_EQ(socket->receive()->at("n"), 1);
    EXPECT_EQ(socket->receive()->at("text"), long_text);
  }
  rank.join();  // the end of the connection ended it
}

TEST_F(Door, TurnsAwayWhoDoesNot) {
  setenv(kTokenVariable, "0123", 1);
  std::string complaint;
  std::thread stranger(
      [&] { complaint = error_text<RunError>([&] { connect_to_sweep(door_.where()); }); });
  EXPECT_FALSE(door_.accept().has_value());
  stranger.join();
  EXPECT_NE(complaint.find("127.0.0.1: another program answers on this port"), std::string::npos)
      << complaint;
}

TEST_F(Door, TurnsAwayNoise) {
  const FileDescriptor noise(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port())));
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  ASSERT_EQ(connect(noise.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  const std::string text = "GET / HTTP/1.0\r\n\r\n";
  ASSERT_GT(send(noise.get(), text.data(), text.size(), 0), 0);
  EXPECT_FALSE(door_.accept().has_value());
}

TEST_F(Door, TriesEveryAddress) {
  setenv(kTokenVariable, door_.token().c_str(), 1);
  // The first is no address; at the second only a machine with IPv6 answers.
  const std::string where = "tcp:" + port() + ":192.0.2.1.,::1,127.0.0.1";
  std::thread rank([&] { connect_to_sweep(where); });
  EXPECT_TRUE(door_.accept().has_value());
  rank.join();
  for (const char* bad : {"", "tcp:", "tcp:5", "udp:5:1", "control"})
    EXPECT_THROW(connect_to_sweep(bad), InputError) << bad;
}

// A rank greets the others one after the other. In a run 100 times slower, a round trip of 20 ms
// takes 2 s, and 15 greetings of three round trips take 90 s.
TEST(StartTimeout, GrowsWithRanksAndRoundTrips) {
  EXPECT_DOUBLE_EQ(start_timeout(4, 0), 64);
  EXPECT_GT(start_timeout(16, 2), start_timeout(16, 0) + 15 * 3 * 2);
}

TEST(AddressTowards, ThisMachineAndNobody) {
  EXPECT_EQ(address_towards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(address_towards("root@127.0.0.1"), "127.0.0.1");
  EXPECT_THROW(address_towards("no-such-host.invalid"), RunError);
  EXPECT_TRUE(is_this_machine("127.0.0.1"));
  EXPECT_TRUE(is_this_machine("127.0.1.1")) << "Debian's address of a machine's own name";
  EXPECT_FALSE(is_this_machine("192.0.2.1"));
  EXPECT_FALSE(is_this_machine("root@127.0.0.1")) << "mpirun logs in there";
  EXPECT_THROW(is_this_machine("no-such-host.invalid"), RunError);
}

WayCalibration way(const std::string& where, double goodput) {
  WayCalibration result;
  result.where = where;
  result.set = "rate=100";
  result.ceiling = 100;
  result.goodput = goodput;
  result.seconds = 0.5;
  return result;
}

// Machines whose links are set by a test.
class FakeMachines : public Machines {
 public:
  LinkCalibration answer;
  bool ours = true, breaks = false;
  int hosts = 2, asked = 0;

  int size() const override { return hosts; }
  Boarding board(int) override { return {}; }
  void set_links(const LinkSpec&, double) override {}
  WireCount count_wire(int) override { return {}; }
  std::uint32_t mtu(const LinkSpec& link, const Launch*) const override { return link.mtu; }
  LinkCalibration calibrate(const LinkSpec&, double, Launch*) override {
    ++asked;
    if (breaks) throw RunError("no datagram came back");
    return answer;
  }
  std::vector<std::string> drift() override { return {}; }
  bool sets_links() const override { return ours; }
  std::map<std::string, std::string> sysctls() const override { return {}; }
  nlohmann::json description() const override { return {}; }
};

TEST(Calibrator, TheFarthestWayDecides) {
  FakeMachines machines;
  const LinkSpec link = parse_link_spec("rate=1mbit");
  machines.answer.ways = {way("host0 up", 99.5), way("host0 down", 97.1), way("host1 up", 102)};
  Calibrator calibrator;
  const CalibratedLink& holds = calibrator.calibrate(machines, link, 1, nullptr);
  EXPECT_EQ(holds.verdict(), Verdict::kHolds);
  EXPECT_EQ(holds.figures.farthest()->where, "host0 down");
  // 3 % in either direction: too fast is as wrong as too slow.
  for (const double wrong : {96.9, 103.1, 0.0}) {
    machines.answer.ways[1].goodput = wrong;
    EXPECT_EQ(Calibrator().calibrate(machines, link, 1, nullptr).verdict(), Verdict::kOff) << wrong;
  }
}

TEST(Calibrator, WhatCannotBeJudgedIsSaidToBeSo) {
  FakeMachines machines;
  const LinkSpec link = parse_link_spec("rate=1mbit");
  machines.answer.unmeasured = "it loses frames";
  EXPECT_EQ(Calibrator().calibrate(machines, link, 1, nullptr).verdict(), Verdict::kUnmeasured);
  machines.answer = {{way("rank 0 to rank 1", 30)}, ""};
  machines.ours = false;
  EXPECT_EQ(Calibrator().calibrate(machines, link, 1, nullptr).verdict(), Verdict::kUnjudged);
}

TEST(Calibrator, KeepsWhatItMeasuredByLinkAndNumberOfMachines) {
  FakeMachines machines;
  machines.answer.ways = {way("host0 up", 100)};
  const LinkSpec slow = parse_link_spec("rate=1mbit"), fast = parse_link_spec("rate=9mbit");
  Calibrator calibrator;
  EXPECT_EQ(calibrator.find(machines, slow, 1), nullptr);
  calibrator.calibrate(machines, slow, 1, nullptr);
  calibrator.calibrate(machines, fast, 1, nullptr);
  ASSERT_NE(calibrator.find(machines, slow, 1), nullptr);
  EXPECT_EQ(calibrator.find(machines, slow, 1)->link, "rate=1mbit");
  ASSERT_NE(calibrator.find(machines, fast, 1), nullptr);
  EXPECT_EQ(calibrator.find(machines, fast, 1)->link, "rate=9mbit");
  EXPECT_EQ(calibrator.find(machines, parse_link_spec("rate=5mbit"), 1), nullptr);
  EXPECT_EQ(calibrator.find(machines, slow, 2), nullptr);
  machines.hosts = 4;  // another network
  EXPECT_EQ(calibrator.find(machines, slow, 1), nullptr);
  const nlohmann::json record = calibrator.record();
  EXPECT_EQ(record["tolerance"], 0.03);
  ASSERT_EQ(record["links"].size(), 2U);
  EXPECT_EQ(record["links"][1]["link"], "rate=9mbit");
  EXPECT_EQ(record["links"][1]["verdict"], "holds");
  EXPECT_EQ(record["links"][1]["machines"], 2);
  EXPECT_EQ(record["links"][1]["time_scale"], 1.0);
  EXPECT_EQ(record["links"][1]["ways"][0]["where"], "host0 up");
  EXPECT_EQ(record["links"][1]["ways"][0]["ratio"], 1.0);
  EXPECT_TRUE(record["links"][1]["ways"][0]["round_trip"].is_null());
}

TEST(Calibrator, RecordsWhatItSkipped) {
  FakeMachines machines;
  const LinkSpec link = parse_link_spec("rate=1mbit");
  Calibrator calibrator;
  calibrator.skip(machines, link, 1, "nobody asked");
  EXPECT_EQ(machines.asked, 0);
  ASSERT_NE(calibrator.find(machines, link, 1), nullptr);
  EXPECT_EQ(calibrator.find(machines, link, 1)->verdict(), Verdict::kUnmeasured);
  const nlohmann::json record = calibrator.record();
  EXPECT_EQ(record["links"][0]["reason"], "nobody asked");
  EXPECT_TRUE(record["links"][0]["ratio"].is_null());
  EXPECT_TRUE(record["links"][0]["ways"].empty());
}

TEST(Calibrator, RemembersWhatBroke) {
  FakeMachines machines;
  machines.breaks = true;
  const LinkSpec link = parse_link_spec("rate=1mbit");
  Calibrator calibrator;
  EXPECT_THROW(calibrator.calibrate(machines, link, 1, nullptr), RunError);
  ASSERT_NE(calibrator.find(machines, link, 1), nullptr);
  EXPECT_EQ(calibrator.find(machines, link, 1)->verdict(), Verdict::kBroken);
  EXPECT_EQ(calibrator.record()["links"][0]["reason"], "no datagram came back");
}

}  // namespace
}  // namespace thinpipe
