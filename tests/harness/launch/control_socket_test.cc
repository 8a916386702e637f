#include "harness/launch/control_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <thread>

#include "base/error.h"

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
    const std::string long_text(300'000, 'x');  // more than a UNIX packet may hold
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
  EXPECT_NE(complaint.find("127.0.0.1: somebody else answers there"), std::string::npos)
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
  // The first is none, at the second only a machine with IPv6 answers.
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

}  // namespace

}  // namespace thinpipe
