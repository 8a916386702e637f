#include "netem/verify/tools.h"

#include <gtest/gtest.h>

#include "base/programs.h"
#include "tests/netem/measured.h"

namespace thinpipe {
namespace {

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
    const ToolFigure goodput = valid([&] {
                                 return watched([&] { return iperf3_goodput(network, {0, 1}, 1); });
                               }).value;
    require(goodput.value.has_value(), goodput.trouble);
    require(*goodput.value > 18e6 && *goodput.value < 20e6, "what iperf3 measures");
    const ToolFigure trip = ping_round_trip(network, {0, 1}, 5, 0);
    require(!trip.value || *trip.value < 5e-3, "what ping measures");
    require(trip.value || !trip.trouble.empty(), "or why it measures nothing");
  });
}

}  // namespace
}  // namespace thinpipe
