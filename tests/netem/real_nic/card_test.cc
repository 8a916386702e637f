#include "netem/real_nic/card.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/netem/real_nic/nic.h"

namespace thinpipe {
namespace {

using Burdens = std::vector<std::string>;

TEST(Burdens, ADefaultRoute) {
  EXPECT_EQ(with_nics([] {
              require(burdens_of("nic0", {}).empty(), "free at first");
              add_default_route("nic0", "10.1.0.254");
              require(burdens_of("nic0", {}) == Burdens{"nic0 carries the default route"}, "nic0");
              require(burdens_of("nic1", {}).empty(), "nic1 is free");
            }),
            0);
}

TEST(Burdens, TheWayToTheController) {
  EXPECT_EQ(with_nics([] {
              require(
                  burdens_of("nic1", {"10.2.0.77"}) ==
                      Burdens{"nic1 carries the connection to 10.2.0.77, which controls this host"},
                  "by the subnet's route");
              require(burdens_of("nic0", {"10.2.0.77"}).empty(), "nic0 is free");
              require(burdens_of("nic0", {"10.1.0.1"}).empty(), "an address of this host's own");
              require(burdens_of("nic0", {"203.0.113.9"}).empty(), "no route there");
              require(burdens_of("nic0", {"fe80::1%nic0"}).size() == 1, "a link-local peer");
              add_default_route("nic0", "10.1.0.254");
              require(burdens_of("nic0", {"203.0.113.9"}).size() == 2, "by the default route");
            }),
            0);
}

TEST(Burdens, ThroughABridge) {
  EXPECT_EQ(with_nics([] {
              Netlink netlink;
              netlink.add_bridge("br0");
              netlink.enslave("nic0", "br0");
              netlink.add_address("br0", "10.9.0.1/24");
              netlink.set_up("br0");
              add_default_route("br0", "10.9.0.254");
              require(burdens_of("nic0", {}) ==
                          Burdens{"nic0 is below br0, which carries the default route"},
                      "below");
              require(burdens_of("br0", {}).size() == 1, "itself");
              require(burdens_of("nic1", {}).empty(), "nic1 is free");
            }),
            0);
}

TEST(Burdens, NamesWhatIsWrong) {
  EXPECT_EQ(with_nics([] { burdens_of("nic0", {"not-an-address"}); }), kExitUsage);
  EXPECT_EQ(with_nics([] { burdens_of("nic9", {}); }), kExitFailed);
}

TEST(Burdens, TheEnvironmentTellsWhoControls) {
  setenv("SSH_CONNECTION", "192.0.2.7 50022 192.0.2.1 22", 1);
  setenv("SLURM_LAUNCH_NODE_IPADDR", "192.0.2.9", 1);
  EXPECT_EQ(controlling_addresses(), (Burdens{"192.0.2.7", "192.0.2.9"}));
  unsetenv("SSH_CONNECTION");
  unsetenv("SLURM_LAUNCH_NODE_IPADDR");
  EXPECT_EQ(controlling_addresses(), Burdens{});
}

TEST(CardLink, ARateBothWaysAndHowItIsKept) {
  for (const char* good :
       {"rate=10mbit", "rate=10mbit,burst=20kb,queue=100kb", "rate=1gbit,shaper=htb"})
    EXPECT_EQ(why_not_on_a_card(parse_link_spec(good)), "") << good;
}

TEST(CardLink, NothingThatNeedsMoreThanWhatLeavesTheHost) {
  for (const char* bad :
       {"rate=10mbit,delay=1ms", "rate=10mbit,loss=1%", "lte", "up.rate=1mbit,down.rate=2mbit",
        "rate=10mbit,place=switch", "rate=10mbit,mtu=9000", "rate=10mbit,overhead=24",
        "rate=10mbit,shaper=netem"})
    EXPECT_NE(why_not_on_a_card(parse_link_spec(bad)), "") << bad;
  EXPECT_NE(why_not_on_a_card(LinkSpec{}), "");
}

TEST(CardLink, TakesThePlaceOfWhatIsThere) {
  EXPECT_EQ(with_nics([] {
              for (const char* link : {"rate=10mbit", "rate=20mbit,shaper=htb", "rate=30mbit"}) {
                throttle_card("nic0", parse_link_spec(link));
                const std::vector<RawQdisc> now = read_qdiscs(interface_index("nic0"));
                const bool htb = std::string(link).find("htb") != std::string::npos;
                require(now.at(0).kind == (htb ? "htb" : "tbf") && now[0].handle == kOurHandle,
                        link);
              }
              restore_qdiscs(interface_index("nic0"),
                             {RawQdisc{.parent = 0xffffffff, .kind = "noqueue"}});
            }),
            0);
}

}  // namespace

}  // namespace thinpipe
