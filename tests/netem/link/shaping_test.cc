#include "netem/link/shaping.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "netem/link/qdisc.h"
#include "netem/link/qdisc_netem.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

// "tbf@1: netem@1:1" and so on.
std::string kinds(const Shaping& shaping) {
  std::string text;
  for (const ShapingStep& step : shaping)
    text += fmt::format("{}{}{}@{:x}:{:x}", text.empty() ? "" : " ", step.is_class ? "class " : "",
                        step.request.kind, step.at.parent >> 16, step.at.parent & 0xffff);
  return text;
}

std::string places(const char* link) {
  const LinkShaping shaping = shaping_of(parse_link_spec(link));
  return kinds(shaping.host) + " | " + (shaping.way_up ? kinds(*shaping.way_up) : "-") + " | " +
         kinds(shaping.port);
}

TEST(Shaping, PutsEverythingInItsPlace) {
  EXPECT_EQ(places("unthrottled"), "bfifo@ffff:ffff | - | bfifo@ffff:ffff");
  EXPECT_EQ(places("rate=1mbit"), "tbf@ffff:ffff | - | tbf@ffff:ffff");
  EXPECT_EQ(places("up.rate=1mbit"), "tbf@ffff:ffff | - | bfifo@ffff:ffff");
  EXPECT_EQ(places("rate=1mbit,shaper=htb"),
            "htb@ffff:ffff class htb@1:0 bfifo@1:1 | - | htb@ffff:ffff class htb@1:0 bfifo@1:1");
  EXPECT_EQ(places("rate=1mbit,delay=1ms"), "tbf@ffff:ffff | - | tbf@ffff:ffff netem@1:1");
  EXPECT_EQ(places("rate=1mbit,up.delay=1ms"), "tbf@ffff:ffff | netem@ffff:ffff | tbf@ffff:ffff");
  EXPECT_EQ(places("rate=1mbit,down.shaper=htb,loss=1%"),
            "tbf@ffff:ffff | - | htb@ffff:ffff class htb@1:0 netem@1:1");
  EXPECT_EQ(places("rate=1mbit,place=switch"), "bfifo@ffff:ffff | tbf@ffff:ffff | tbf@ffff:ffff");
  EXPECT_EQ(places("rate=1mbit,place=switch,up.delay=1ms"),
            "bfifo@ffff:ffff | tbf@ffff:ffff netem@1:1 | tbf@ffff:ffff");
  EXPECT_EQ(places("rate=1mbit,shaper=netem,delay=1ms"), "netem@ffff:ffff | - | netem@ffff:ffff");
  EXPECT_EQ(places("delay=1ms"), "bfifo@ffff:ffff | - | netem@ffff:ffff");
}

TEST(Shaping, IsWhatTheLinkSays) {
  // 100 Mbit/s: 12.5 MB/s, a bucket of 1 ms, a queue of 50 ms.
  const LinkShaping plain = shaping_of(parse_link_spec("rate=100mbit,overhead=24"));
  EXPECT_EQ(hex(plain.host[0].request.options),
            hex(tbf_request({.rate = 12500000, .burst = 12500, .limit = 625000, .overhead = 24})
                    .options));
  const LinkShaping htb = shaping_of(parse_link_spec("rate=100mbit,shaper=htb"));
  EXPECT_EQ(hex(htb.port[1].request.options),
            hex(htb_class_request({.rate = 12500000, .burst = 12500, .quantum = 15140}).options));
  EXPECT_EQ(hex(htb.port[2].request.options), hex(fifo_request(625000).options));
}

TEST(Shaping, NetemHoldsThePipeAndTheQueue) {
  // 100 Mbit/s for 121.12 ms are 1000 frames of 1514 bytes; the queue of 15140 is ten more.
  EXPECT_EQ(netem_limit(parse_link_spec("rate=100mbit,delay=121.12ms,queue=15140").down, 1514),
            1010U);
  // Jitter stretches the pipe up to four times its deviation.
  EXPECT_EQ(
      netem_limit(parse_link_spec("rate=100mbit,delay=121.12ms,jitter=30.28ms,queue=15140").down,
                  1514),
      2010U);
  // Without a rate: 100 Gbit/s for 1 ms are 8256.3 frames; never fewer than 1000.
  EXPECT_EQ(netem_limit(parse_link_spec("delay=1ms").down, 1514), 8257U);
  EXPECT_EQ(netem_limit(parse_link_spec("loss=1%").down, 1514), 1000U);
}

// netem's attribute 14, the seed, or "" where there is none.
std::string seed_of(const char* link, std::uint64_t stream) {
  const Shaping port = shaping_of(parse_link_spec(link), stream).port;
  const std::string bytes = hex(port.back().request.options);
  const std::size_t at = bytes.find("0c000e00");
  return at == std::string::npos ? "" : bytes.substr(at);
}

TEST(Shaping, HostsThatShareASeedDrawDifferently) {
  EXPECT_EQ(seed_of("loss=1%", 0), "");
  EXPECT_NE(seed_of("loss=1%,seed=1", 0), "");
  EXPECT_EQ(seed_of("loss=1%,seed=1", 0), seed_of("loss=1%,seed=1", 0));
  EXPECT_NE(seed_of("loss=1%,seed=1", 0), seed_of("loss=1%,seed=1", 1));
  EXPECT_NE(seed_of("loss=1%,seed=1", 0), seed_of("loss=1%,seed=2", 0));
}

TEST(Shaping, TheDirectionsOfALinkDrawDifferently) {
  const LinkSpec link = parse_link_spec("loss=1%,seed=1");
  EXPECT_NE(netem_seed(link, 0, true), netem_seed(link, 0, false));
  // Nor does a link's uplink draw what the next one's downlink does.
  EXPECT_NE(netem_seed(link, 1, true), netem_seed(link, 0, false));
}

}  // namespace

}  // namespace thinpipe
