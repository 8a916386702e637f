#include "netem/network.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "netem/probe.h"
#include "netem/qdisc_htb.h"
#include "netem/qdisc_tbf.h"
#include "netem/sandbox.h"
#include "netem/verify.h"
#include "netem/verify/judge.h"
#include "tests/netem/measured.h"

namespace thinpipe {
namespace {

TEST(Probe, FindsWhatARunNeeds) {
  const KernelFeatures features = probe_kernel();
  EXPECT_TRUE(features.namespaces.available) << features.namespaces.detail;
  EXPECT_TRUE(features.veth.available) << features.veth.detail;
  EXPECT_TRUE(features.bridge.available) << features.bridge.detail;
  EXPECT_TRUE(features.tbf.available) << features.tbf.detail;
  // What a kernel may lack says why.
  for (const KernelFeature& feature : {features.ifb, features.htb, features.netem})
    EXPECT_FALSE(feature.detail.empty());
}

TEST(Network, SettingsAreInForceOnEveryHost) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
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
              return 0;
            }),
            0);
}

LinkCheck verified(Network& network, const LinkSpec& link, const VerifyOptions& options) {
  const LinkCheck check = valid([&] { return verify_link(network, link, options); });
  // A window of 0.2 s at 20 Mbit/s is 330 frames, so that one more or less is 0.3 %; of a valid
  // measurement the machine takes at most 1 %.
  require(std::fabs(check.deviation()) < kCeilingTolerance,
          fmt::format("{} delivers {:.0f} of {:.0f} bit/s", link.to_string(), check.goodput,
                      check.ceiling));
  return check;
}

TEST(Network, DeliversItsRateWithinThreePercent) {
  measure_between_two([](Network& network) {
    VerifyOptions quick;
    quick.seconds = 1;
    // Changed twice on the same network: a later rate must not remember an earlier one.
    for (const char* rate : {"rate=20mbit", "rate=80mbit"}) {
      const LinkCheck check = verified(network, parse_link_spec(rate), quick);
      // Handshake, FIN and acknowledgement frames are all that comes on top.
      require(check.wire_ratio > 0.999 && check.wire_ratio < 1.01, "qdisc counters");
      require(check.round_trip < 5e-3, "round trip of an idle link without delay");
    }
  });
}

// Whatever shapes it, and wherever.
TEST(Network, DeliversEveryKindOfRate) {
  const KernelFeatures features = probe_kernel();
  measure_between_two([&](Network& network) {
    VerifyOptions quick;
    quick.seconds = 0.6;
    quick.settle = 0.3;
    quick.windows = 3;
    for (const char* text :
         {"rate=80mbit,shaper=htb", "rate=80mbit,overhead=24", "rate=80mbit,mtu=9000",
          "rate=80mbit,mtu=600", "up.rate=40mbit,down.rate=80mbit", "rate=40mbit,queue=64kb",
          "rate=80mbit,place=switch", "rate=80mbit,overhead=24,shaper=htb"}) {
      const LinkSpec link = parse_link_spec(text);
      if (!missing_for(link, features).empty()) continue;
      const LinkCheck check = verified(network, link, quick);
      require(check.wire_ratio > 0.999 && check.wire_ratio < 1.02, text);
    }
  });
}

// The last acknowledgements of connections just closed may come after the change, and are counted.
void require_anew(std::uint64_t bytes, const char* what) {
  require(bytes < 10000, fmt::format("{}, not at {} bytes", what, bytes));
}

// The way up of place=switch passes an IFB, which is gone with the next link.
TEST(Network, ShapesAtTheSwitch) {
  if (!probe_kernel().ifb.available) GTEST_SKIP() << probe_kernel().ifb.detail;
  measure_between_two([](Network& network) {
    VerifyOptions quick;
    quick.seconds = 0.2;
    quick.settle = 0.1;
    quick.windows = 2;
    verify_link(network, parse_link_spec("rate=50mbit,place=switch"), quick);
    const LinkCounters counters = network.counters(0);
    require(counters.up.bytes > 100000, "the host sent");
    require(counters.way_up.bytes > 100000, "and the IFB let it pass");
    // The same IFB serves the next link that needs one, and counts anew.
    const LinkSpec slow = parse_link_spec("rate=20mbit,place=switch");
    network.set_links(slow);
    require_anew(network.counters(0).way_up.bytes, "counters start again");
    const LinkCheck slower = valid([&] { return verify_link(network, slow, quick); });
    // Of 20 Mbit/s, not of 50. So short a stream is still making up for slow start's drops.
    require(slower.goodput < 20e6 && slower.goodput > 15e6, "the new rate");
    network.set_links(parse_link_spec("rate=50mbit"));
    require(network.counters(0).way_up.bytes == 0, "no IFB any more");
    network.switch_at(0).inside([] { require(!Netlink().exists("up0"), "it is gone"); });
  });
}

TEST(Network, CountsFromZeroAfterEveryChange) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              VerifyOptions quick;
              quick.seconds = 0.2;
              quick.settle = 0.1;
              quick.windows = 2;
              verify_link(network, parse_link_spec("rate=50mbit"), quick);
              require(network.counters(0).up.bytes > 100000, "traffic was counted");
              network.set_links(parse_link_spec("rate=50mbit"));
              require_anew(network.counters(0).up.bytes, "counters start again");
              return 0;
            }),
            0);
}

// What the kernel has is read back: nothing that was set may differ unseen.
TEST(Network, SeesWhatSomebodyElseChanged) {
  const KernelFeatures features = probe_kernel();
  if (!features.ifb.available || !features.htb.available) GTEST_SKIP() << "needs ifb and htb";
  EXPECT_EQ(
      run_in_sandbox([](const Sandbox&) {
        Network network(2);
        const auto expect = [&](const char* text, const char* setting) {
          const std::vector<std::string> found = network.alterations();
          const bool seen = found.size() == 1 && found[0].find(setting) != std::string::npos;
          require(seen,
                  fmt::format("{}: {} instead of {}", text, fmt::join(found, " | "), setting));
        };
        const auto on_host = [&](const std::function<void(Netlink&)>& change) {
          network.host(1).inside([&] {
            Netlink netlink;
            change(netlink);
          });
        };
        const TrafficHandle root = {0xffffffff, 0x10000};
        for (const char* text :
             {"rate=80mbit", "rate=80mbit,shaper=htb", "rate=80mbit,place=switch", "mtu=9000"}) {
          network.set_links(parse_link_spec(text));
          require(network.alterations().empty(), text);
        }
        const LinkSpec plain = parse_link_spec("rate=80mbit");
        network.set_links(plain);
        on_host([&](Netlink& netlink) {
          netlink.set_qdisc("thin0", root,
                            tbf_request({.rate = 20'000'000, .burst = 10000, .limit = 500000}));
        });
        expect("rate", "link host1: qdisc tbf on thin0: tbf rate");
        network.set_links(plain);
        on_host([](Netlink& netlink) { netlink.delete_root_qdisc("thin0"); });
        expect("taken away", "link host1: qdisc tbf on thin0: the kernel has");
        network.set_links(plain);
        on_host([](Netlink& netlink) { netlink.set_frame_limits("thin0", 1400, kManySegments); });
        expect("mtu", "link host1: interface thin0: mtu");
        network.set_links(plain);
        network.switch_at(0).inside([] { Netlink().delete_root_qdisc("data0"); });
        expect("port", "link host0: qdisc tbf on data0");
        network.set_links(parse_link_spec("rate=80mbit,shaper=htb"));
        on_host([](Netlink& netlink) {
          netlink.set_class(
              "thin0", {0x10000, 0x10001},
              htb_class_request({.rate = 20'000'000, .burst = 20000, .quantum = 9000}));
        });
        expect("class", "link host1: class 1:1 of htb on thin0: htb rate");
        network.set_links(parse_link_spec("rate=80mbit,place=switch"));
        network.switch_at(0).inside([] { Netlink().delete_root_qdisc("up1"); });
        expect("way up", "link host1: qdisc tbf on up1");
        return 0;
      }),
      0);
}

TEST(Network, RefusesAnImpossibleSize) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(0);
              return 0;
            }),
            kExitUsage);
}

}  // namespace
}  // namespace thinpipe
