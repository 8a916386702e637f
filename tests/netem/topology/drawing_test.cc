#include "netem/topology/drawing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>

#include "netem/topology/spec.h"

namespace thinpipe {
namespace {

Topology drawn(const std::string& text, int hosts, const char* link = "rate=100mbit") {
  return parse_topology(text).plan(hosts, parse_link_spec(link));
}

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(TextDrawing, ShowsATreeFromItsSpine) {
  EXPECT_EQ(draw_as_text(drawn("racks:host3=(rate=0.1x)", 4)), R"(racks:host3=(rate=0.1x)
4 hosts, 3 switches, 6 links

  spine
  ╠══ rack0      50mbit  oversubscribed 4:1
  ║   ├── host0  100mbit
  ║   └── host1  100mbit
  ╚══ rack1      50mbit  oversubscribed 2.2:1
      ├── host2  100mbit
      └── host3  10mbit

From one host to another, nobody else sending
   pairs   TCP at most    round trip   narrowest
       2   95.6 Mbit/s    -            the hosts' own links
       4   47.8 Mbit/s    -            the links between switches
       6   9.56 Mbit/s    -            host3

All hosts at once, links shared fairly: the slowest flow gets at most
  9.56 Mbit/s    in a ring, each to the next
  3.19 Mbit/s    each to every other
)");
}

TEST(TextDrawing, ListsTheLinksOfAMesh) {
  const std::string text = draw_as_text(drawn("wan:sites=3,site0-site2=(rate=1mbit)", 3));
  EXPECT_NE(text.find("  site1\n  └── host1  unthrottled\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  site0 ═══ site2  1mbit\n"), std::string::npos) << text;
}

TEST(TextDrawing, FitsIn80Columns) {
  std::string file = "switch " + std::string(32, 'a') + " hosts=40; switch " +
                     std::string(32, 'b') + " hosts=1; link " + std::string(32, 'a') + " " +
                     std::string(32, 'b') +
                     " rate=123456789,burst=100kb,queue=1000kb; host3 rate=1mbit";
  for (const Topology& net : {drawn(file, 41), drawn("racks:racks=4", 64), drawn("star", 250),
                              drawn("star:host0=(rate=1mbit),host1=(rate=2mbit),host2=(rate=3mbit),"
                                    "host3=(rate=4mbit),host4=(rate=5mbit)",
                                    5)}) {
    std::istringstream lines(draw_as_text(net));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(columns(line), 80U) << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
    }
  }
}

TEST(TextDrawing, JoinsNeighboursThatAreAlike) {
  const std::string text = draw_as_text(drawn("ps:host0=(rate=1mbit)", 20));
  EXPECT_NE(text.find("├── host0            1mbit\n"), std::string::npos) << text;
  EXPECT_NE(text.find("├── host1 … host18   18 × 100mbit\n"), std::string::npos) << text;
  EXPECT_NE(text.find("└── host19 (server)  100mbit\n"), std::string::npos) << text;
}

TEST(SvgDrawing, HasEveryHostSwitchAndLinkOnce) {
  const Topology net = drawn("wan:sites=4,host3=(rate=10mbit)", 8);
  const std::string svg = draw_as_svg(net);
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1))
      ++found;
    return found;
  };
  for (int i = 0; i < 8; ++i) EXPECT_EQ(count(">host" + std::to_string(i) + "</text>"), 1U);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(count(">site" + std::to_string(i) + "</text>"), 1U);
  EXPECT_EQ(count("<line "), 14U + 3U);  // 8 + 6, and one in the legend for each setting
  EXPECT_EQ(count("<title>site1-site3: 100mbit</title>"), 1U);
}

TEST(SvgDrawing, NothingStandsOnAnother) {
  for (const Topology& net : {drawn("star", 30), drawn("racks:racks=5", 23),
                              drawn("wan:sites=7", 9), drawn("racks", 2)}) {
    const Layout layout = lay_out(net);
    std::vector<Spot> spots = layout.hosts;
    spots.insert(spots.end(), layout.switches.begin(), layout.switches.end());
    for (std::size_t i = 0; i < spots.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_TRUE(std::fabs(spots[i].x - spots[j].x) > 62 ||
                    std::fabs(spots[i].y - spots[j].y) > 24)
            << net.text << " " << i << " and " << j;
  }
}

}  // namespace
}  // namespace thinpipe
