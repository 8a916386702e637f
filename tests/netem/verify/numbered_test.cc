#include "netem/verify/numbered.h"

#include <gtest/gtest.h>

#include "tests/netem/verify/attempts.h"

namespace thinpipe {
namespace {

std::vector<NumberedArrival> arrivals_of(Network& network, int pieces, int at_once) {
  const SocketPair pair = datagram_pair(network, {0, 1}, 1);
  NumberedSender sender(pair.sender, 500, at_once);
  NumberedReceiver receiver(pair.receiver, 500);
  for (int i = 0; i < pieces; ++i) require(sender.send_piece(true), "sent");
  receiver.wait(0.2);
  std::vector<NumberedArrival> arrivals;
  receiver.take(arrivals);
  return arrivals;
}

TEST(Numbered, DatagramsArriveByNumberAndTime) {
  EXPECT_EQ(attempts_with_two_hosts([](Network& network) {
              for (const int at_once : {1, 10}) {
                const double before = wall_clock();
                const auto arrivals = arrivals_of(network, 20, at_once);
                require(arrivals.size() == static_cast<std::size_t>(20 * at_once), "all");
                for (std::size_t i = 0; i < arrivals.size(); ++i) {
                  require(arrivals[i].number == i, "in order");
                  require(arrivals[i].time >= before && arrivals[i].time <= wall_clock(), "time");
                }
              }
            }),
            0);
}

TEST(Numbered, WhatASocketHasNoRoomForIsKnown) {
  EXPECT_EQ(attempts_with_two_hosts([](Network& network) {
              const SocketPair pair = datagram_pair(network, {0, 1}, 1);
              NumberedReceiver receiver(pair.receiver, 500);
              NumberedSender sender(pair.sender, 500, 1);
              const std::uint64_t before = datagrams_without_room(network, 1);
              constexpr std::uint64_t kMany = 50000;  // more than 8 MB of buffers hold
              while (sender.next() < kMany) sender.send_piece(true);
              receiver.wait(0.1);
              std::vector<NumberedArrival> arrivals;
              receiver.take(arrivals);
              const std::uint64_t dropped = datagrams_without_room(network, 1) - before;
              require(dropped > 0, "some were dropped");
              require(arrivals.size() + dropped == kMany,
                      fmt::format("{} + {}", arrivals.size(), dropped));
            }),
            0);
}

}  // namespace
}  // namespace thinpipe
