#include "netem/real_nic/card_link.h"

#include <gtest/gtest.h>

#include "tests/netem/real_nic/nic.h"

namespace thinpipe {
namespace {

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
