// The socket to workers, and the calibration of links before a run.
#include "harness/launch/control_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "harness/launch/calibration.h"
#include "harness/launch/machines.h"

namespace thinpipe {
namespace {

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
  std::thread stranger([&] {
    try {
      connect_to_sweep(door_.where());
    } catch (const RunError& error) {
      complaint = error.what();
    }
  });
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

TEST(AddressTowards, ThisMachineAndNobody) {
  EXPECT_EQ(address_towards("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(address_towards("root@127.0.0.1"), "127.0.0.1");
  EXPECT_THROW(address_towards("no-such-host.invalid"), RunError);
}

using Verdict = CalibratedLink::Verdict;

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
  std::uint32_t mtu(const LinkSpec& link) const override { return link.mtu; }
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
