#include "netem/network.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "netem/link/qdisc.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/topology/flows.h"
#include "netem/verify/judge.h"
#include "netem/verify/measure_flows.h"
#include "netem/verify/verify_topology.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

TEST(Probe, FindsWhatARunNeeds) {
  const KernelFeatures features = probe_kernel();
  EXPECT_TRUE(features.namespaces.available) << features.namespaces.detail;
  EXPECT_TRUE(features.veth.available) << features.veth.detail;
  EXPECT_TRUE(features.bridge.available) << features.bridge.detail;
  EXPECT_TRUE(features.tbf.available) << features.tbf.detail;
  // Features that a kernel may lack have a reason.
  for (const KernelFeature& feature : {features.ifb, features.htb, features.netem})
    EXPECT_FALSE(feature.detail.empty());
}

TEST(Network, SettingsAreInForceOnEveryHost) {
  expect_in_sandbox([] {
    Network network(3);
    require(network.sysctls().at("net.ipv4.tcp_slow_start_after_idle") == "0", "sysctl");
    for (int i = 0; i < 3; ++i)
      network.host(i).inside([] {
        std::ifstream file("/proc/sys/net/ipv4/tcp_slow_start_after_idle");
        std::string value;
        file >> value;
        require(value == "0", "the host's own sysctl");
      });
    require(network.data_address(2) == "198.18.0.3", "address");
  });
}

LinkCheck verified(Network& network, const LinkSpec& link, const TcpStreamOptions& options) {
  const LinkCheck check = valid([&] { return verify_link(network, link, options); });
  // A window of 0.2 s at 20 Mbit/s has 330 frames, so one frame more or less is 0.3 %. A busy
  // machine costs a valid measurement at most 1 %.
  require(std::fabs(check.deviation()) < kCeilingTolerance,
          fmt::format("{} delivers {:.0f} of {:.0f} bit/s", link.to_string(), check.goodput,
                      check.ceiling));
  return check;
}

TEST(Network, DeliversItsRateWithinThreePercent) {
  measure_between_two([](Network& network) {
    // Changed twice on the same network: a later rate must not remember an earlier one.
    for (const char* rate : {"rate=20mbit", "rate=80mbit"}) {
      const LinkCheck check = verified(network, parse_link_spec(rate), {.seconds = 1});
      // Handshake, FIN and acknowledgement frames are all that comes on top.
      require(check.wire_ratio > 0.999 && check.wire_ratio < 1.01, "qdisc counters");
      require(check.round_trip < 5e-3, "round trip of an idle link without delay");
    }
  });
}

// By each shaper, at the host and at the switch.
TEST(Network, DeliversEveryKindOfRate) {
  const KernelFeatures features = probe_kernel();
  measure_between_two([&](Network& network) {
    for (const char* text :
         {"rate=80mbit,shaper=htb", "rate=80mbit,overhead=24", "rate=80mbit,mtu=9000",
          "rate=80mbit,mtu=600", "up.rate=40mbit,down.rate=80mbit", "rate=40mbit,queue=64kb",
          "rate=80mbit,place=switch", "rate=80mbit,overhead=24,shaper=htb"}) {
      const LinkSpec link = parse_link_spec(text);
      if (!missing_for(link, features).empty()) continue;
      const LinkCheck check =
          verified(network, link, {.seconds = 0.6, .settle = 0.3, .windows = 3});
      require(check.wire_ratio > 0.999 && check.wire_ratio < 1.02, text);
    }
  });
}

constexpr TcpStreamOptions kVeryQuick = {.seconds = 0.2, .settle = 0.1, .windows = 2};

// The last acknowledgements of connections just closed may come after the change, and are counted.
void require_anew(std::uint64_t bytes, const char* what) {
  require(bytes < 10000, fmt::format("{}, not at {} bytes", what, bytes));
}

// The uplink of place=switch passes an IFB, which is gone with the next link.
TEST(Network, ShapesAtTheSwitch) {
  if (!probe_kernel().ifb.available) GTEST_SKIP() << probe_kernel().ifb.detail;
  measure_between_two([](Network& network) {
    verify_link(network, parse_link_spec("rate=50mbit,place=switch"), kVeryQuick);
    const LinkCounters counters = network.counters(0);
    require(counters.up.bytes > 100000, "the host sent");
    require(counters.uplink.bytes > 100000, "and the IFB let it pass");
    // The same IFB serves the next link that needs one, and counts anew.
    const LinkSpec slow = parse_link_spec("rate=20mbit,place=switch");
    network.set_links(slow);
    require_anew(network.counters(0).uplink.bytes, "counters start again");
    const LinkCheck slower = valid([&] { return verify_link(network, slow, kVeryQuick); });
    // The goodput must fit 20 Mbit/s, not 50 Mbit/s. It is lower than usual because so short a
    // stream is still recovering from slow start's drops.
    require(slower.goodput < 20e6 && slower.goodput > 15e6, "the new rate");
    network.set_links(parse_link_spec("rate=50mbit"));
    require(network.counters(0).uplink.bytes == 0, "no IFB any more");
    network.switch_at(0).inside([] { require(!Netlink().exists("up0"), "it is gone"); });
  });
}

// A link that was refused must not stop the links that are set after it.
TEST(Network, ShapesAtTheSwitchAfterARefusal) {
  if (!probe_kernel().ifb.available) GTEST_SKIP() << probe_kernel().ifb.detail;
  expect_in_sandbox([] {
    Network network(2);
    const LinkSpec link = parse_link_spec("rate=50mbit,place=switch");
    // An interface has at most one ingress qdisc, so the kernel refuses the redirection to the IFB.
    network.switch_at(0).inside([] { Netlink().redirect_arrivals("data0", "data1"); });
    require_has(run_error([&] { network.set_links(link); }), "redirect ingress of data0 to up0");
    network.switch_at(0).inside([] { Netlink().stop_redirecting("data0"); });
    network.set_links(link);
    require(network.drift().empty(), "every setting is as requested");
  });
}

TEST(Network, CountsFromZeroAfterEveryChange) {
  expect_in_sandbox([] {
    Network network(2);
    verify_link(network, parse_link_spec("rate=50mbit"), kVeryQuick);
    require(network.counters(0).up.bytes > 100000, "traffic was counted");
    network.set_links(parse_link_spec("rate=50mbit"));
    require_anew(network.counters(0).up.bytes, "counters start again");
  });
}

// The kernel's settings are read back: none may differ unnoticed.
TEST(Network, SeesWhatSomebodyElseChanged) {
  const KernelFeatures features = probe_kernel();
  if (!features.ifb.available || !features.htb.available) GTEST_SKIP() << "needs ifb and htb";
  expect_in_sandbox([] {
    Network network(2);
    const auto expect = [&](const char* setting) {
      const std::vector<std::string> found = network.drift();
      require(found.size() == 1, fmt::format("one drift: {}", fmt::join(found, " | ")));
      require_has(found[0], setting);
    };
    for (const char* text :
         {"rate=80mbit", "rate=80mbit,shaper=htb", "rate=80mbit,place=switch", "mtu=9000"}) {
      network.set_links(parse_link_spec(text));
      require(network.drift().empty(), text);
    }
    const LinkSpec plain = parse_link_spec("rate=80mbit");
    network.set_links(plain);
    network.host(1).inside([] {
      Netlink().set_qdisc("thin0", {},
                          tbf_request({.rate = 20'000'000, .burst = 10000, .limit = 500000}));
    });
    expect("link host1: qdisc tbf on thin0: tbf rate");
    network.set_links(plain);
    network.host(1).inside([] { Netlink().delete_root_qdisc("thin0"); });
    expect("link host1: qdisc tbf on thin0: deleted");
    network.set_links(plain);
    network.host(1).inside([] { Netlink().set_frame_limits("thin0", 1400, kManySegments); });
    expect("link host1: interface thin0: mtu");
    network.set_links(plain);
    network.switch_at(0).inside([] { Netlink().delete_root_qdisc("data0"); });
    expect("link host0: qdisc tbf on data0");
    network.set_links(parse_link_spec("rate=80mbit,shaper=htb"));
    network.host(1).inside([] {
      Netlink().set_qdisc("thin0", {0x10000, 0x10001},
                          htb_class_request({.rate = 20'000'000, .burst = 20000, .quantum = 9000}));
    });
    expect("link host1: class 1:1 of htb on thin0: htb rate");
    network.set_links(parse_link_spec("rate=80mbit,place=switch"));
    network.switch_at(0).inside([] { Netlink().delete_root_qdisc("up1"); });
    expect("link host1: qdisc tbf on up1");
  });
}

TEST(Network, RefusesAnImpossibleSize) {
  expect_in_sandbox([] { Network network(0); }, kExitUsage);
}

// Topologies as real networks: every pair of hosts reaches each other, paths deliver the
// rate of their narrowest link, flows on one link divide it, and switches forward every byte.

constexpr FlowOptions kQuick = {.settle = 0.3, .seconds = 0.7, .awake = true};
// Where senders are faster than a switch's port, slow start ends in drops.
constexpr FlowOptions kBehindSwitch = {.settle = 2, .seconds = 1, .awake = true};
// Tolerance of goodput, as for a single link. At 4 Mbit/s a frame takes 3 ms of the measured
// second, and a receiver reads several frames at once: up to 0.8 %. A busy machine costs a valid
// measurement at most 1 %.
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
               // One after the other: at once, each direction's acknowledgements would take 2.2 %.
               require_goodput(network, {{0, 3}}, {5e6});
               require_goodput(network, {{3, 0}}, {5e6});
             });
}

TEST(TopologyNetwork, AFlowThatIsResetLeavesLittleOnItsWay) {
  in_network("star", 2, "rate=20mbit", [](Network& network) {
    FlowOptions reset = kQuick;
    reset.drain = false;
    const double trip = valid_result([&] {
      require_goodput(network, {{0, 1}}, {20e6}, reset);
      return measure_round_trip(network, {0, 1}, 1);
    });
    // TCP small queues admit a packet while at most twice its size is queued (the kernel's
    // tcp_small_queue_check). So fewer than three packets of 64 KiB (45 frames each) are in the
    // queue before the datagram. Both hosts wait for the datagram, and on an undisturbed machine a
    // wait ends within 2 ms. The socket buffer contained 1.5 MB, or 0.6 s.
    require(trip < 3 * 45 * 1514 * 8 / 20e6 + 2 * kLateSeconds, fmt::format("{} s", trip));
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

// Kirchhoff's law, of bytes: every byte that enters a switch leaves it.
TEST(TopologyNetwork, SwitchesGiveOutWhatTheyTakeIn) {
  in_network("wan:sites=3,hosts=(rate=30mbit)", 6, "rate=10mbit", [](Network& network) {
    const std::vector<FlowFigures> flows =
        valid([&] {
          network.set_links(parse_link_spec("rate=10mbit"));  // counters start again
          return measure_flows(network, {{0, 2}, {1, 4}, {3, 5}, {2, 3}}, kQuick);
        }).flows;
    const Topology& topology = network.topology();
    std::vector<double> in, out;
    const auto count = [&] {
      in.assign(3, 0), out.assign(3, 0);
      for (int i = 0; i < topology.links(); ++i) {
        const LinkCounters link = network.counters(i);
        const int upper =
            topology.is_trunk(i) ? topology.trunk_of(i).b : topology.hosts[as_index(i)].at;
        in[as_index(upper)] += double(link.up.bytes);
        out[as_index(upper)] += double(link.down.bytes);
        if (!topology.is_trunk(i)) continue;
        out[as_index(topology.trunk_of(i).a)] += double(link.up.bytes);
        in[as_index(topology.trunk_of(i).a)] += double(link.down.bytes);
      }
      return in == out;
    };
    // The last acknowledgements of connections just closed may be on their way.
    for (int i = 0; i < 5000 && !count(); ++i) usleep(1000);
    for (std::size_t i = 0; i < 3; ++i)
      require(in[i] > 1e5 && in[i] == out[i],
              fmt::format("site{}: {} in, {} out", i, in[i], out[i]));
    // Flow 0 is the only flow on the trunk site0-site1. So this trunk carried the flow's payload in
    // full frames, and its acknowledgements in the reverse direction.
    const double payload = flows[0].payload * kFrameBytes / kPayloadBytes;
    const double carried = double(network.counters(6).up.bytes);
    require(carried > payload && carried < payload * 1.01,
            fmt::format("{} bytes for {}", carried, payload));
  });
}

TEST(TopologyNetwork, BothWaysAtOnceLeaveRoomForAcknowledgements) {
  in_network("racks:uplink=(rate=12mbit)", 2, "rate=20mbit", [](Network& network) {
    const LinkSpec link = parse_link_spec("rate=20mbit");
    // A retransmission timeout costs 0.2 s and the slow start after it. Three timeouts leave two
    // thirds of the measured 3 s.
    const auto checks = valid(
        [&] { return verify_topology(network, link, {.seconds = 3, .settle = 1, .both = true}); });
    require(checks.size() == 2, "hosts' links and the uplinks");
    for (const ProbeCheck& check : checks) {
      require(check.both.has_value(), "both directions");
      const BidirectionalGoodput& both = *check.both;
      // An acknowledgement for each segment would cost 66 of every 1514 bytes, 4.4 %.
      require(both.forward_ceiling < check.probe.goodput &&
                  both.forward_ceiling > 0.95 * check.probe.goodput,
              "the ceiling less acknowledgements");
      require(
          both.forward < 1.03 * both.forward_ceiling && both.reverse < 1.03 * both.reverse_ceiling,
          "no more than the link has");
      require(
          both.forward > 0.5 * both.forward_ceiling && both.reverse > 0.5 * both.reverse_ceiling,
          fmt::format("{}: neither direction starves, forward {:.0f} of {:.0f} bit/s, reverse "
                      "{:.0f} of {:.0f}",
                      check.link, both.forward, both.forward_ceiling, both.reverse,
                      both.reverse_ceiling));
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
      require(there > 20 * back && back > 0, "data in one direction, ACKs in the other");
    }
    network.set_links(parse_link_spec("rate=20mbit"));
    for (int i = 0; i < network.topology().links(); ++i) {
      const LinkCounters anew = network.counters(i);
      require_anew(anew.up.bytes + anew.down.bytes, "counters start again");
    }
  });
}

TEST(TopologyNetwork, NothingButOurTrafficCrossesALink) {
  // No ARP, no neighbour discovery: a datagram of 64 bytes and its echo are two frames a hop.
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
