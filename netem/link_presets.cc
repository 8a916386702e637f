#include "netem/link_presets.h"

namespace thinpipe {

namespace {

// Access links (lte, adsl, wifi) have half their round trip in each direction, since that is where
// the sources measured it: two such hosts are both their round trips apart.
constexpr LinkPreset kPresets[] = {
    {"ethernet-1g", "rate=1gbit,overhead=24", "Gigabit Ethernet, wire framing counted",
     "Ethernet (IEEE 802.3): 8 bytes of preamble with its delimiter, 4 of check sequence and 12 of "
     "gap a frame"},
    {"ethernet-10g", "rate=10gbit,overhead=24", "10 Gigabit Ethernet, wire framing counted",
     "Ethernet (IEEE 802.3), as ethernet-1g"},
    {"wan-100ms", "rate=100mbit,delay=50ms,queue=1bdp",
     "data centres an ocean apart: 100 ms round trip",
     "round trip: California to Tokyo 102.5 ms, Virginia to Frankfurt 88.6 ms between AWS regions "
     "(averages published in April 2017); rate: ours, for a WAN far thinner than the LAN, the "
     "setting of Hsieh et al. (Gaia, NSDI 2017); queue: one round trip of the rate (Villamizar and "
     "Song, 1994)"},
    {"lte", "rate=12mbit,up.delay=35ms,down.delay=35ms", "a mobile phone's link, 70 ms round trip",
     "WebPageTest's connection profile LTE (12/12 Mbit/s, 70 ms)"},
    {"adsl", "up.rate=384kbit,down.rate=1500kbit,up.delay=25ms,down.delay=25ms",
     "a telephone line, 50 ms round trip",
     "WebPageTest's connection profile DSL (1.5 Mbit/s down, 384 kbit/s up, 50 ms)"},
    {"wifi", "up.rate=33mbit,down.rate=40mbit,up.delay=1ms,down.delay=1ms",
     "a home's wireless network",
     "ours, of the order of what tools for developers call Wi-Fi (Proxyman's documentation: 25 to "
     "40 Mbit/s down, 15 to 30 up)"},
    {"geo-satellite", "up.rate=3mbit,down.rate=25mbit,delay=279ms",
     "over one geostationary satellite, 558 ms round trip",
     "delay: RFC 2488, section 2 (one hop at the edge of the view, 279.0 ms); rates: the plan that "
     "HughesNet sold on Jupiter 1 and 2 (25 Mbit/s down, 3 Mbit/s up)"},
    {"aws-25g", "rate=25gbit,mtu=9001", "EC2 instances of 25 Gbit/s in one VPC",
     "rate: ours, of the larger instances; AWS EC2 User Guide, instance network bandwidth: one "
     "flow gets at most 5 Gbit/s outside a cluster placement group, 10 within; network MTU: 9001 "
     "within a VPC"},
};

}  // namespace

std::span<const LinkPreset> link_presets() { return kPresets; }

}  // namespace thinpipe
