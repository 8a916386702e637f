#include "netem/network.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/probe.h"
#include "netem/sandbox.h"
#include "netem/verify.h"

namespace thinpipe {
namespace {

// Expectations inside a sandbox are in another process: they are thrown, and the exit code tells.
void require(bool condition, const char* what) {
  if (!condition) throw RunError(what);
}

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

TEST(Network, DeliversItsRateWithinThreePercent) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              VerifyOptions quick;
              quick.seconds = 1;
              // Changed twice on the same network: a later rate must not remember an earlier one.
              for (const char* rate : {"rate=20mbit", "rate=80mbit"}) {
                const LinkCheck check = verify_link(network, parse_link_spec(rate), quick);
                require(std::fabs(check.deviation()) < 0.03, "goodput");
                // Handshake, FIN and acknowledgement frames are all that comes on top.
                require(check.wire_ratio > 0.999 && check.wire_ratio < 1.01, "qdisc counters");
                require(check.round_trip < 5e-3, "round trip of an idle link without delay");
              }
              return 0;
            }),
            0);
}

// Whatever shapes it, and wherever.
TEST(Network, DeliversEveryKindOfRate) {
  const KernelFeatures features = probe_kernel();
  EXPECT_EQ(
      run_in_sandbox([&](const Sandbox&) {
        Network network(2);
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
          const LinkCheck check = verify_link(network, link, quick);
          require(
              std::fabs(check.deviation()) < 0.03,
              fmt::format("{} delivers {:.0f} of {:.0f} bit/s", text, check.goodput, check.ceiling)
                  .c_str());
          require(check.wire_ratio > 0.999 && check.wire_ratio < 1.02, text);
        }
        return 0;
      }),
      0);
}

// The way up of place=switch passes an IFB, which is gone with the next link.
TEST(Network, ShapesAtTheSwitch) {
  if (!probe_kernel().ifb.available) GTEST_SKIP() << probe_kernel().ifb.detail;
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              VerifyOptions quick;
              quick.seconds = 0.2;
              quick.settle = 0.1;
              quick.windows = 2;
              verify_link(network, parse_link_spec("rate=50mbit,place=switch"), quick);
              const LinkCounters counters = network.counters(0);
              require(counters.up.bytes > 100000, "the host sent");
              require(counters.way_up.bytes > 100000, "and the IFB let it pass");
              // The same IFB serves the next link that needs one, and counts anew.
              network.set_links(parse_link_spec("rate=20mbit,place=switch"));
              require(network.counters(0).way_up.bytes == 0, "counters start again");
              const LinkCheck slower =
                  verify_link(network, parse_link_spec("rate=20mbit,place=switch"), quick);
              require(slower.goodput < 20e6 && slower.goodput > 15e6, "the new rate");
              network.set_links(parse_link_spec("rate=50mbit"));
              require(network.counters(0).way_up.bytes == 0, "no IFB any more");
              network.switch_at(0).inside([] { require(!Netlink().exists("up0"), "it is gone"); });
              return 0;
            }),
            0);
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
              require(network.counters(0).up.bytes == 0, "counters start again");
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
