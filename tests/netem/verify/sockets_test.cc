#include "netem/verify/sockets.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/netem/measured.h"

namespace thinpipe {
namespace {

// A test that would wait for ever ends after 10 s, however busy the machine is.
void take_until(NumberedReceiver& receiver, std::vector<NumberedArrival>& arrivals,
                const std::function<bool()>& complete) {
  for (const double end = wall_clock() + 10; !complete() && wall_clock() < end;) {
    receiver.wait(0.1);
    receiver.take(arrivals);
  }
}

std::vector<NumberedArrival> arrivals_of(Network& network, int pieces, int at_once) {
  const SocketPair pair = datagram_pair(network, {0, 1}, 1);
  NumberedSender sender(pair.sender, 500, at_once);
  NumberedReceiver receiver(pair.receiver, 500);
  for (int i = 0; i < pieces; ++i) require(sender.send_piece(true), "sent");
  std::vector<NumberedArrival> arrivals;
  take_until(receiver, arrivals, [&] { return arrivals.size() >= std::size_t(pieces * at_once); });
  return arrivals;
}

TEST(Numbered, DatagramsArriveByNumberAndTime) {
  measure_between_two([](Network& network) {
    for (const int at_once : {1, 10}) {
      const double before = wall_clock();
      const auto arrivals = arrivals_of(network, 20, at_once);
      require(arrivals.size() == static_cast<std::size_t>(20 * at_once), "all");
      for (std::size_t i = 0; i < arrivals.size(); ++i) {
        require(arrivals[i].number == i, "in order");
        require(arrivals[i].time >= before && arrivals[i].time <= wall_clock(), "time");
      }
    }
  });
}

TEST(Numbered, WhatASocketHasNoRoomForIsKnown) {
  measure_between_two([](Network& network) {
    // At a rate at which the receiving kernel's backlog of 1000 packets, where nobody would
    // count a drop, has room for all that a bucket lets through at once: 230.
    network.set_links(parse_link_spec("rate=1gbit"));
    const SocketPair pair = datagram_pair(network, {0, 1}, 1);
    NumberedReceiver receiver(pair.receiver, 500);
    NumberedSender sender(pair.sender, 500, 1);
    const std::uint64_t before = datagrams_without_room(network, 1);
    constexpr std::uint64_t kMany = 50000;  // more than 8 MB of buffers hold
    while (sender.next() < kMany) sender.send_piece(true);
    std::vector<NumberedArrival> arrivals;
    std::uint64_t dropped = 0;
    take_until(receiver, arrivals, [&] {
      dropped = datagrams_without_room(network, 1) - before;
      return arrivals.size() + dropped == kMany;
    });
    require(dropped > 0, "some were dropped");
    require(arrivals.size() + dropped == kMany, fmt::format("{} + {}", arrivals.size(), dropped));
  });
}

}  // namespace

}  // namespace thinpipe
