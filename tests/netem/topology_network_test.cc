// Topologies as real networks: every pair of hosts reaches each other, paths deliver what their
// narrowest link has, flows that meet share it, and what switches take in they give out.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/measure_flows.h"
#include "netem/network.h"
#include "netem/sandbox.h"
#include "netem/topology/flows.h"
#include "netem/verify_topology.h"
#include "tests/netem/measured.h"

namespace thinpipe {
namespace {

constexpr FlowOptions kQuick = {.settle = 0.3, .seconds = 0.7, .awake = true};
// Where senders are faster than a switch's port, slow start ends in drops.
constexpr FlowOptions kBehindSwitch = {.settle = 2, .seconds = 1, .awake = true};
// Tolerance of goodput, as for a single link. At 4 Mbit/s a frame takes 3 ms of the second that is
// measured, and a receiver reads several at once: up to 0.8 %. The machine takes 1 % of a valid
// measurement.
constexpr double kTolerance = 0.03;

void require_goodput(const Network& network, const std::vector<Flow>& flows,
                     const std::vector<double>& rates, const FlowOptions& options = kQuick) {
  const MeasuredFlows found = valid([&] { return measure_flows(network, flows, options); });
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const double goodput = found.flows[i].goodput, expected = tcp_ceiling(rates[i]);
    require(std::fabs(goodput / expected - 1) < kTolerance,
            fmt::format("{}: host{} to host{}: {:.0f} bit/s, not {:.0f}", network.topology().text,
                        flows[i].from, flows[i].to, goodput, expected));
  }
}

void in_network(const char* topology, int hosts, const char* link, void (*check)(Network&)) {
  SCOPED_TRACE(topology);
  measure_in_sandbox([&] {
    Network network(hosts, parse_topology(topology));
    network.set_links(parse_link_spec(link));
    check(network);
  });
}

void all_reach_all(Network& network) {
  for (int from = 0; from < network.size(); ++from)
    for (int to = 0; to < network.size(); ++to)
      if (from != to) measure_round_trip(network, {from, to}, 1);
}

TEST(TopologyNetwork, EveryHostReachesEveryOther) {
  for (const auto& [topology, hosts] :
       {std::pair{"star", 5}, std::pair{"racks:racks=3", 7}, std::pair{"wan:sites=4", 6},
        std::pair{"ps:servers=2", 5},
        std::pair{"switch a hosts=1; switch b hosts=1; switch c hosts=1; switch d hosts=1; link a "
                  "b; link b c; link c d; link d a",
                  4}})
    in_network(topology, hosts, "rate=50mbit", all_reach_all);
}

TEST(TopologyNetwork, APathDeliversWhatItsNarrowestLinkHas) {
  in_network("racks:uplink=(rate=12mbit),host3=(rate=5mbit)", 4, "rate=20mbit",
             [](Network& network) {
               require_goodput(network, {{0, 1}}, {20e6});
               require_goodput(network, {{0, 2}}, {12e6});
               // One after the other: at once, each way's acknowledgements would take 2.2 %.
               require_goodput(network, {{0, 3}}, {5e6});
               require_goodput(network, {{3, 0}}, {5e6});
             });
}

TEST(TopologyNetwork, AFlowThatIsResetLeavesLittleOnItsWay) {
  in_network("star", 2, "rate=20mbit", [](Network& network) {
    FlowOptions reset = kQuick;
    reset.drain = false;
    require_goodput(network, {{0, 1}}, {20e6}, reset);
    // By TCP small queues two packets are in the queue, of 64 KiB in 45 frames, before the datagram,
    // whose waits a machine that is not disturbed ends within 2 ms. The buffer held 1.5 MB, or 0.6 s.
    const double trip = measure_round_trip(network, {0, 1}, 1);
    require(trip < 2 * 45 * 1514 * 8 / 20e6 + 2e-3, fmt::format("{} s", trip));
  });
}

TEST(TopologyNetwork, FlowsAcrossRacksShareTheUplink) {
  in_network("racks:oversubscription=2", 8, "rate=20mbit", [](Network& network) {
    const std::vector<Flow> flows = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
    // 40 Mbit/s in all; how TCP divides them is TCP's business.
    const MeasuredFlows found = valid([&] { return measure_flows(network, flows, kBehindSwitch); });
    double sum = 0;
    for (const FlowFigures& one : found.flows) sum += one.goodput;
    require(std::fabs(sum / tcp_ceiling(40e6) - 1) < kTolerance,
            fmt::format("{:.0f} bit/s over the uplink", sum));
  });
}

TEST(TopologyNetwork, EveryPairOfSitesHasALinkOfItsOwn) {
  in_network("wan:sites=3,site0-site2=(rate=4mbit)", 3, "rate=16mbit", [](Network& network) {
    // At once: no path takes anything from another.
    require_goodput(network, {{0, 1}, {1, 2}, {2, 0}}, {16e6, 16e6, 4e6}, kBehindSwitch);
  });
}

TEST(TopologyNetwork, AServerHasItsOwnLink) {
  in_network("ps:server=(rate=2x)", 3, "rate=10mbit", [](Network& network) {
    require_goodput(network, {{0, 2}, {1, 2}}, {10e6, 10e6});
  });
}

// Kirchhoff's law, of bytes: what comes into a switch leaves it.
TEST(TopologyNetwork, SwitchesGiveOutWhatTheyTakeIn) {
  in_network("wan:sites=3,hosts=(rate=30mbit)", 6, "rate=10mbit", [](Network& network) {
    const std::vector<FlowFigures> flows =
        measure_flows(network, {{0, 2}, {1, 4}, {3, 5}, {2, 3}}, kQuick).flows;
    const Topology& topology = network.topology();
    std::vector<double> in(3, 0), out(3, 0);
    for (int i = 0; i < topology.links(); ++i) {
      const LinkCounters link = network.counters(i);
      const int upper =
          topology.is_trunk(i) ? topology.trunk_of(i).b : topology.hosts[std::size_t(i)].at;
      in[std::size_t(upper)] += double(link.up.bytes);
      out[std::size_t(upper)] += double(link.down.bytes);
      if (!topology.is_trunk(i)) continue;
      out[std::size_t(topology.trunk_of(i).a)] += double(link.up.bytes);
      in[std::size_t(topology.trunk_of(i).a)] += double(link.down.bytes);
    }
    for (std::size_t i = 0; i < 3; ++i)
      require(in[i] > 1e5 && in[i] == out[i],
              fmt::format("site{}: {} in, {} out", i, in[i], out[i]));
    // Flow 0 alone is on site0-site1, so that trunk carried its payload in
    // full frames, and on the way back its acknowledgements.
    const double payload = flows[0].payload * kFrameBytes / kPayloadBytes;
    const double carried = double(network.counters(6).up.bytes);
    require(carried > payload && carried < payload * 1.01,
            fmt::format("{} bytes for {}", carried, payload));
  });
}

TEST(TopologyNetwork, BothWaysAtOnceLeaveRoomForAcknowledgements) {
  in_network("racks:uplink=(rate=12mbit)", 2, "rate=20mbit", [](Network& network) {
    const LinkSpec link = parse_link_spec("rate=20mbit");
    // A retransmission timeout costs 0.2 s and what slow start then takes: three of them leave two
    // thirds of 3 s.
    const auto checks = valid([&] {
      return verify_topology(network, link, {.seconds = 3, .settle = 1, .both = true});
    });
    require(checks.size() == 2, "hosts' links and the uplinks");
    for (const ProbeCheck& check : checks) {
      require(check.both.has_value(), "both ways");
      const BothWays& both = *check.both;
      // An acknowledgement for each segment would cost 66 of every 1514 bytes, 4.4 %.
      require(both.there_ceiling < check.probe.goodput &&
                  both.there_ceiling > 0.95 * check.probe.goodput,
              "the ceiling less acknowledgements");
      require(both.there < 1.03 * both.there_ceiling && both.back < 1.03 * both.back_ceiling,
              "no more than the link has");
      require(both.there > 0.5 * both.there_ceiling && both.back > 0.5 * both.back_ceiling,
              fmt::format("{}: neither way starves, there {:.0f} of {:.0f} bit/s, back {:.0f} of {:.0f}",
                          check.link, both.there, both.there_ceiling, both.back,
                          both.back_ceiling));
    }
  });
}

TEST(TopologyNetwork, CountersStartAnewAndAreOfTheirDirection) {
  in_network("racks", 2, "rate=20mbit", [](Network& network) {
    measure_flows(network, {{0, 1}}, kQuick);
    // host0 up, rack0 up to the spine, spine down to rack1, host1 down.
    for (const auto& [link, up] :
         {std::pair{0, true}, std::pair{2, true}, std::pair{3, false}, std::pair{1, false}}) {
      const LinkCounters found = network.counters(link);
      const auto there = up ? found.up.bytes : found.down.bytes;
      const auto back = up ? found.down.bytes : found.up.bytes;
      require(there > 20 * back && back > 0, "data one way, ACKs the other");
    }
    network.set_links(parse_link_spec("rate=20mbit"));
    for (int i = 0; i < network.topology().links(); ++i)
      require(network.counters(i).up.bytes == 0 && network.counters(i).down.bytes == 0,
              "counters start again");
  });
}

TEST(TopologyNetwork, NothingButOurTrafficCrossesALink) {
  // No ARP, no neighbour discovery: a datagram of 64 bytes there and back is two frames a hop.
  in_network("racks", 2, "rate=20mbit", [](Network& network) {
    measure_round_trip(network, {0, 1}, 3);
    for (int i = 0; i < network.topology().links(); ++i) {
      require(network.counters(i).up.packets == 3, "3 frames up");
      require(network.counters(i).down.bytes == 3 * (14 + 20 + 8 + 64), "3 frames down");
    }
  });
}

}  // namespace
}  // namespace thinpipe
