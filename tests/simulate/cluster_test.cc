// Messages in simulated time, against times that a person can compute.
#include "workloads/simulate/cluster.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/simulate/in_child.h"

namespace thinpipe {
namespace {

constexpr double kLinkRate = 1e6;          // B/s
constexpr std::size_t kMessage = 100'000;  // bytes: 0.1 s
constexpr double kTiny = 1e-6;             // s; SimGrid's own precision is 1 ns

SimulatedNetwork star(int hosts, double delay = 0, double credit = 0) {
  SimulatedNetwork network{.hosts = hosts};
  for (int host = 0; host < hosts; ++host) {
    network.links.push_back({.rate = kLinkRate, .credit = credit});
    network.links.push_back({.rate = kLinkRate, .delay = delay, .credit = credit});
  }
  return network;
}

// A rank, with what a test's program needs.
struct Rank {
  std::unique_ptr<Transport> transport;
  std::vector<std::byte> room = std::vector<std::byte>(kMessage);

  void wait_for(Transport::Request slot, std::size_t* size = nullptr) {
    while (!transport->done(slot, size)) transport->pause();
  }
  void send(int peer, std::span<const std::byte> data, int tag = 0) {
    transport->send(0, peer, tag, data);
    wait_for(0);
  }
  std::size_t receive(int peer, int tag = 0) {
    std::size_t size = 0;
    transport->receive(1, peer, tag, room);
    wait_for(1, &size);
    return size;
  }
};

// Runs program(rank) for each rank in simulated time.
void run_ranks(SimulatedNetwork network, const std::function<void(Rank&)>& program,
               Contents contents = Contents::kHead) {
  const int hosts = network.hosts;
  SimulatedCluster cluster(std::move(network));
  std::vector<Rank> ranks(static_cast<std::size_t>(hosts));
  for (int i = 0; i < hosts; ++i) {
    Rank& rank = ranks[static_cast<std::size_t>(i)];
    rank.transport = cluster.transport(i, contents);
    cluster.add(i, [&] { program(rank); });
  }
  cluster.run();
}

TEST(Cluster, MessagesArriveWholeAndInOrder) {
  in_child([] {
    std::vector<std::byte> numbers(kMessage);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::byte>(i % 251);
    run_ranks(
        star(2),
        [&](Rank& rank) {
          if (rank.transport->rank() == 0) {
            rank.transport->send(5, 1, 7, std::span(numbers).first(3));  // of another tag
            for (const std::size_t size : {kMessage, std::size_t{0}, std::size_t{10}})
              rank.send(1, std::span(numbers).first(size));
            rank.wait_for(5);
            EXPECT_EQ(rank.transport->counters().messages, 4U);
            EXPECT_EQ(rank.transport->counters().bytes, kMessage + 13);
            return;
          }
          EXPECT_EQ(rank.receive(0), kMessage);
          EXPECT_EQ(rank.room, numbers);
          EXPECT_EQ(rank.receive(0), 0U);
          EXPECT_EQ(rank.receive(0), 10U);
          EXPECT_EQ(rank.receive(0, 7), 3U);
        },
        Contents::kWhole);
  });
}

TEST(Cluster, OnlyTheHeadOfALongMessageArrives) {
  in_child([] {
    const std::vector<std::byte> ones(kMessage, std::byte{1});
    run_ranks(star(2), [&](Rank& rank) {
      if (rank.transport->rank() == 0) return rank.send(1, ones);
      EXPECT_EQ(rank.receive(0), kMessage);
      EXPECT_EQ(rank.room.front(), std::byte{1});
      EXPECT_EQ(rank.room.back(), std::byte{0});
    });
  });
}

TEST(Cluster, AMessageTakesItsBytesAndItsDelay) {
  in_child([] {
    SimulatedNetwork network = star(2, 0.25);
    network.message_time = 0.5;
    run_ranks(std::move(network), [](Rank& rank) {
      const std::vector<std::byte> data(kMessage);
      if (rank.transport->rank() == 0) {
        rank.send(1, data);
        EXPECT_NEAR(simulated_now(), 0.1, kTiny) << "the sender does not wait for the delay";
        rank.send(1, data);
        return;
      }
      rank.receive(0);
      EXPECT_NEAR(simulated_now(), 0.1 + 0.75, kTiny);
      rank.receive(0);
      EXPECT_NEAR(simulated_now(), 0.2 + 0.75, kTiny) << "messages follow each other on the link";
    });
  });
}

TEST(Cluster, ConnectionsShareALink) {
  in_child([] {
    run_ranks(star(3), [](Rank& rank) {
      const std::vector<std::byte> data(kMessage);
      if (rank.transport->rank() == 0) {
        rank.transport->send(0, 1, 0, data);
        rank.transport->send(1, 2, 0, data);
        rank.wait_for(0);
        rank.wait_for(1);
      } else {
        rank.receive(0);
      }
      EXPECT_NEAR(simulated_now(), 0.2, kTiny);
    });
  });
}

TEST(Cluster, BothDirectionsAreFree) {
  in_child([] {
    run_ranks(star(2), [](Rank& rank) {
      const std::vector<std::byte> data(kMessage);
      const int peer = 1 - rank.transport->rank();
      rank.transport->send(0, peer, 0, data);
      rank.receive(peer);
      rank.wait_for(0);
      EXPECT_NEAR(simulated_now(), 0.1, kTiny);
    });
  });
}

TEST(Cluster, AnIdleLinkHasCredit) {
  in_child([] {
    run_ranks(star(2, 0, 30'000), [](Rank& rank) {
      const std::vector<std::byte> data(kMessage);
      if (rank.transport->rank() == 1) {
        for (int i = 0; i < 3; ++i) rank.receive(0);
        return;
      }
      rank.send(1, data);
      EXPECT_NEAR(simulated_now(), 0.07, kTiny);
      rank.send(1, data);
      EXPECT_NEAR(simulated_now(), 0.17, kTiny) << "none is left";
      simulate_for(0.02);
      rank.send(1, data);
      EXPECT_NEAR(simulated_now(), 0.19 + 0.08, kTiny) << "20 kB came back";
    });
  });
}

// Hosts 0 and 1 are at one switch, hosts 2 and 3 at another; links 8 and 9 join the switches.
TEST(Cluster, ALinkBetweenSwitchesIsShared) {
  in_child([] {
    SimulatedNetwork network = star(4);
    network.links.push_back({.rate = kLinkRate, .delay = 0.5});
    network.links.push_back({.rate = kLinkRate, .delay = 0.5});
    network.path = [](int from, int to) {
      if (from / 2 == to / 2) return std::vector<int>{2 * from, 2 * to + 1};
      return std::vector<int>{2 * from, from < 2 ? 8 : 9, 2 * to + 1};
    };
    run_ranks(std::move(network), [](Rank& rank) {
      const std::vector<std::byte> data(kMessage);
      if (rank.transport->rank() < 2) return rank.send(rank.transport->rank() + 2, data);
      rank.receive(rank.transport->rank() - 2);
      EXPECT_NEAR(simulated_now(), 0.2 + 0.5, kTiny);
    });
  });
}

TEST(Cluster, RanksThatWaitForEachOtherAreAnError) {
  in_child([] {
    EXPECT_THROW(run_ranks(star(2), [](Rank& rank) { rank.receive(1 - rank.transport->rank()); }),
                 RunError);
  });
}

TEST(Cluster, AProgramsErrorIsReported) {
  in_child([] {
    EXPECT_THROW(run_ranks(star(2),
                           [](Rank& rank) {
                             if (rank.transport->rank() == 1) throw InputError("wrong");
                             rank.receive(1);
                           }),
                 InputError);
  });
}

}  // namespace
}  // namespace thinpipe
