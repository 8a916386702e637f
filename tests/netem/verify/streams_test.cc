// Traffic that `net verify` sends, the machine that it watches meanwhile, and others' tools.
#include "netem/verify/streams.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/clock.h"
#include "base/programs.h"
#include "netem/sandbox.h"
#include "netem/verify/machine_watch.h"
#include "netem/verify/sockets.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

TEST(Streams, CountTheAcknowledgementsThatShareTheLink) {
  measure_between_two([](Network& network) {
    const LinkSpec link = parse_link_spec("rate=20mbit");
    network.set_links(link);
    // The streams settle longer than in link_report.cc's first attempt (1.2 s), which is followed
    // by further attempts. A congestion window that left slow start too early takes a while to
    // reach the link's rate.
    const TcpStreamOptions options{.seconds = 0.6, .settle = 2, .windows = 3, .buffer = 0.4};
    const auto measured = [&](const std::vector<Flow>& flows) {
      return valid([&] { return run_streams(network, link, flows, options); }).streams;
    };
    const double alone = measured({{0, 1}})[0].goodput;
    const std::vector<StreamFigures> both = measured({{0, 1}, {1, 0}});
    for (const int i : {0, 1}) {
      const StreamFigures &way = both[static_cast<std::size_t>(i)],
                          &other = both[static_cast<std::size_t>(1 - i)];
      const double ceiling = link.tcp_ceiling(other.acks);
      // Segments come at 1650 a second, and one in two to four is acknowledged.
      require(way.acks > 200 && way.acks < 1700, fmt::format("{} a second", way.acks));
      require(way.goodput < alone, "less than alone");
      require(std::abs(way.goodput / ceiling - 1) < 0.03,
              fmt::format("{} of {}", way.goodput, ceiling));
    }
  });
}

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
  for (int i = 0; i < pieces; ++i) require(sender.send_batch(true), "sent");
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
    // At this rate a bucket lets 230 packets through at once. They fit into the receiving kernel's
    // backlog of 1000 packets, where no counter would see a drop.
    network.set_links(parse_link_spec("rate=1gbit"));
    const SocketPair pair = datagram_pair(network, {0, 1}, 1);
    NumberedReceiver receiver(pair.receiver, 500);
    NumberedSender sender(pair.sender, 500, 1);
    const std::uint64_t before = receive_buffer_drops(network, 1);
    constexpr std::uint64_t kMany = 50000;  // more than fit into 8 MB of buffers
    while (sender.next() < kMany) sender.send_batch(true);
    std::vector<NumberedArrival> arrivals;
    std::uint64_t dropped = 0;
    take_until(receiver, arrivals, [&] {
      dropped = receive_buffer_drops(network, 1) - before;
      return arrivals.size() + dropped == kMany;
    });
    require(dropped > 0, "some were dropped");
    require(arrivals.size() + dropped == kMany, fmt::format("{} + {}", arrivals.size(), dropped));
  });
}

TEST(Disturbance, AQuietMachineIsNone) {
  EXPECT_EQ(Disturbance{}.reason(), "") << "too short for the kernel's ticks";
  EXPECT_EQ(
      (Disturbance{.idle = 0.02, .late_p95 = 2e-3, .stalled = 0.01, .repeated = 0.01}.reason()),
      "");
}

TEST(Disturbance, NamesTheSignThatIsOverItsLimit) {
  EXPECT_EQ(Disturbance{.idle = 0.004}.reason(), "idle 0.4 %");
  EXPECT_EQ(Disturbance{.late_p95 = 3e-3}.reason(), "5 % of timed waits overran by 3 ms or more");
  EXPECT_EQ(Disturbance{.stalled = 0.05}.reason(), "timed waits overran for 5.0 % of the time");
  EXPECT_EQ(Disturbance{.stolen = 0.05}.reason(), "the hypervisor took 5.0 % of the time");
  EXPECT_EQ(Disturbance{.repeated = 0.02}.reason(),
            "2.0 % of the payload retransmitted spuriously");
}

TEST(Disturbance, ATighterBoundLeavesTheMachineLess) {
  const Disturbance little{.stalled = 0.004};
  EXPECT_EQ(little.reason(), "");
  EXPECT_EQ(little.reason(0.001), "timed waits overran for 0.4 % of the time");
}

TEST(Disturbance, OfTwoTheWorseOfEachSign) {
  const Disturbance first{.late_p95 = 2e-3, .stalled = 0.01};
  const Disturbance second{.idle = 0.5, .late_p95 = 1e-3, .stalled = 0.02, .repeated = 0.1};
  const Disturbance worse = worse_of(first, second);
  EXPECT_EQ(worse.idle, 0.5);
  EXPECT_EQ(worse_of(worse, {.idle = 0.4}).idle, 0.4);
  EXPECT_EQ(worse.late_p95, 2e-3);
  EXPECT_EQ(worse.stalled, 0.02);
  EXPECT_EQ(worse.repeated, 0.1);
}

TEST(MachineWatch, GivesWhatWasMeasuredAndSharesOfItsTime) {
  const auto measured = watched([] {
    wait_until(now_seconds() + 0.15);
    return 7;
  });
  EXPECT_EQ(measured.value, 7);
  EXPECT_GE(measured.machine.idle.value_or(0), 0);
  EXPECT_LE(measured.machine.idle.value_or(0), 1);
  EXPECT_GE(measured.machine.stalled, 0);
  EXPECT_LT(measured.machine.stalled, 1);
  EXPECT_GT(measured.machine.late_p95, 0);
}

TEST(MachineWatch, MayEndBeforeItHasBegun) {
  for (int i = 0; i < 20; ++i) {
    MachineWatch watch;
    EXPECT_GT(watch.stop().late_p95, 0);
  }
}

// A process that uses CPU time at a priority, then waits to be ended.
class Spinner {
 public:
  Spinner(int policy, double seconds) {
    int ends[2];
    if (pipe(ends) != 0) ADD_FAILURE() << "pipe";
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const sched_param none{};
      sched_setscheduler(0, policy, &none);
      while (now_seconds(CLOCK_PROCESS_CPUTIME_ID) < seconds) {
      }
      if (write(ends[1], "x", 1) == 1) pause();
      _exit(1);
    }
    close(ends[1]);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 1);
    close(ends[0]);
  }
  ~Spinner() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;
  pid_t process() const { return process_; }

 private:
  pid_t process_;
};

TEST(IdlePriority, CountsProcessesThatGiveWay) {
  const IdlePriority before;
  const Spinner idle(SCHED_IDLE, 0.2);
  EXPECT_GE(before.seconds(), 0.2 - 2 * 0.01);  // ticks of 10 ms, of user and system time
}

// The sandbox has process numbers and a /proc of its own.
TEST(IdlePriority, CountsProcessesOutsideOfTheSandbox) {
  const Spinner idle(SCHED_IDLE, 0);
  const pid_t process = idle.process();
  EXPECT_EQ(run_in_sandbox([process](const Sandbox&) {
              return IdlePriority::times().contains(process) ? 0 : 1;
            }),
            0);
}

TEST(IdlePriority, DoesNotCountOthers) {
  const Spinner other(SCHED_OTHER, 0.2);
  const Spinner idle(SCHED_IDLE, 0);
  EXPECT_FALSE(IdlePriority::times().contains(other.process()));
  EXPECT_TRUE(IdlePriority::times().contains(idle.process()));
}

TEST(Tools, ReadWhatIperf3Prints) {
  EXPECT_EQ(goodput_of_iperf3(R"({"end": {"sum_received": {"bits_per_second": 95.5e6}}})"), 95.5e6);
  EXPECT_THROW(goodput_of_iperf3(R"({"error": "unable to connect"})"), RunError);
  EXPECT_THROW(goodput_of_iperf3("iperf 3"), RunError);
}

TEST(Tools, ReadWhatPingPrints) {
  EXPECT_DOUBLE_EQ(round_trip_of_ping("64 bytes from 198.18.0.2: icmp_seq=1 ttl=63 time=0.041 ms\n"
                                      "64 bytes from 198.18.0.2: icmp_seq=2 ttl=63 time=40.1 ms\n"
                                      "64 bytes from 198.18.0.2: icmp_seq=3 ttl=63 time=0.05 ms\n"
                                      "rtt min/avg/max/mdev = 0.041/13.4/40.1/18 ms\n"),
                   0.05e-3);
  // Busybox's.
  EXPECT_DOUBLE_EQ(round_trip_of_ping("64 bytes from 198.18.0.2: seq=0 ttl=63 time=0.080 ms\n"),
                   0.08e-3);
  EXPECT_THROW(round_trip_of_ping("ping: bad address\n"), RunError);
  EXPECT_THROW(round_trip_of_ping("time=fast"), RunError);
}

TEST(Tools, MeasureTheLink) {
  if (!find_in_path("iperf3")) GTEST_SKIP() << "no iperf3";
  measure_between_two([](Network& network) {
    network.set_links(parse_link_spec("rate=20mbit"));
    const ToolFigure goodput = valid_result([&] { return iperf3_goodput(network, {0, 1}, 1); });
    require(goodput.value.has_value(), goodput.trouble);
    require(*goodput.value > 18e6 && *goodput.value < 20e6, "as iperf3 measures");
    const ToolFigure trip = valid_result([&] { return ping_round_trip(network, {0, 1}, 5, 0); });
    require(!trip.value || *trip.value < 5e-3, "as ping measures");
    require(trip.value || !trip.trouble.empty(), "or why it measures nothing");
  });
}

}  // namespace

}  // namespace thinpipe
