// Links as text and as JSON.
#include "netem/link/link_spec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "netem/link/link_keys.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

using nlohmann::ordered_json;
using namespace std::chrono_literals;

std::string link_error(const std::string& text) {
  return input_error([&] { expand_link_specs(text); });
}

TEST(LinkSpec, ParsesAndPrintsTheSameLink) {
  const std::vector<std::string> links = words_in(R"(
      rate=100mbit rate=1gbit,burst=131072 rate=2.5mbit,queue=262144
      rate=10kbit,burst=2000,queue=5000 rate=1kbit rate=100gbit rate=1.234567mbit
      rate=100mbit,queue=1.5bdp,delay=10ms rate=1gbit,overhead=24,shaper=htb
      rate=1mbit,shaper=netem,delay=1.5ms delay=250us delay=999ns delay=100s delay=10ms,jitter=1ms
      delay=10ms,jitter=1ms,dist=paretonormal
      delay=10ms,jitter=1ms,dist=table:/usr/lib/tc/normal.dist loss=0.1% loss=0.1%/25%
      loss=ge:1%/10%/100%/0% loss=ge:1.5%/12.25%/90%/0.001% delay=10ms,reorder=25%/50%,gap=5
      duplicate=1% corrupt=0.01%/3% up.rate=1mbit,down.rate=8mbit up.rate=1mbit
      rate=1mbit,down.burst=5000 delay=5ms,up.delay=7ms up.loss=3% rate=1gbit,mtu=9000
      rate=1mbit,place=switch loss=1%,seed=18446744073709551615 unthrottled)");
  for (const std::string& text : links) {
    EXPECT_EQ(parse_link_spec(text).to_string(), text);
    EXPECT_EQ(parse_link_spec(parse_link_spec(text).to_string()), parse_link_spec(text));
  }
}

TEST(LinkSpec, PrintsTheCanonicalText) {
  for (const auto& [text, canonical] :
       {std::pair{"rate=100000kbit", "rate=100mbit"}, std::pair{"rate=1000000", "rate=1mbit"},
        std::pair{"queue=4kb,rate=1mbit,burst=2kb", "rate=1mbit,burst=2048,queue=4096"},
        std::pair{"down.delay=10ms", "delay=10ms"}, std::pair{"delay=0.01s", "delay=10ms"},
        std::pair{"up.rate=1mbit,down.rate=1mbit", "rate=1mbit"},
        std::pair{"up.rate=2mbit,rate=1mbit", "up.rate=2mbit,down.rate=1mbit"},
        std::pair{"rate=1mbit,delay=0s,loss=0%,mtu=1500,place=sender,overhead=0", "rate=1mbit"},
        std::pair{"loss=ge:1%", "loss=ge:1%/100%/100%/0%"},
        std::pair{"delay=1ms,reorder=5%,gap=1", "delay=1ms,reorder=5%"},
        std::pair{"rate=1mbit,shaper=tbf,loss=0%/50%", "rate=1mbit"}})
    EXPECT_EQ(parse_link_spec(text).to_string(), canonical) << text;
}

TEST(LinkSpec, PlainKeysHoldBothWaysOrHappenOnce) {
  const LinkSpec link = parse_link_spec("rate=8mbit,up.rate=1mbit,overhead=24,delay=10ms,loss=1%");
  EXPECT_EQ(link.up.rate, 1e6);
  EXPECT_EQ(link.down.rate, 8e6);
  EXPECT_EQ(link.up.overhead, 24U);
  EXPECT_EQ(link.down.overhead, 24U);
  EXPECT_EQ(link.down.impairment.delay, 10ms);
  EXPECT_EQ(link.down.impairment.loss.percent, 1);
  EXPECT_TRUE(link.up.impairment.none());
  EXPECT_EQ(link.rate(), 1e6);
  EXPECT_EQ(link.delay(), 0.010);
  EXPECT_EQ(link.round_trip(), 0.020);
}

TEST(LinkSpec, ReadsEveryKeyIntoItsPlace) {
  const LinkSpec link = parse_link_spec(
      "rate=10mbit,delay=20ms,jitter=2ms,dist=normal,loss=ge:1%/20%/90%/0.5%,reorder=3%/"
      "4%,gap=5,duplicate=6%/7%,corrupt=8%/9%,queue=2bdp,mtu=9000,place=switch,seed=7");
  const Impairment& way = link.down.impairment;
  EXPECT_EQ(way.jitter, 2ms);
  EXPECT_EQ(way.distribution, DelayDistribution::kNormal);
  EXPECT_EQ(*way.bursts, (GilbertElliott{1, 20, 90, 0.5}));
  EXPECT_EQ(way.loss, Chance{});
  EXPECT_EQ(way.reorder, (Chance{3, 4}));
  EXPECT_EQ(way.gap, 5U);
  EXPECT_EQ(way.duplicate, (Chance{6, 7}));
  EXPECT_EQ(way.corrupt, (Chance{8, 9}));
  EXPECT_EQ(link.down.queue_bdp, 2);
  EXPECT_EQ(link.mtu, 9000U);
  EXPECT_EQ(link.place, Place::kSwitch);
  EXPECT_EQ(link.seed, 7U);
}

TEST(LinkSpec, SaysWhatTheKernelMustOffer) {
  const auto needs = [](const char* text) {
    const LinkSpec link = parse_link_spec(text);
    return std::string(link.needs_netem() ? "netem " : "") + (link.needs_htb() ? "htb " : "") +
           (link.needs_ifb() ? "ifb " : "") + (link.needs_single_frames() ? "single " : "") +
           (link.disturbs() ? "disturbs" : "");
  };
  EXPECT_EQ(needs("rate=1mbit,queue=64kb,mtu=9000"), "");
  EXPECT_EQ(needs("rate=1mbit,shaper=htb"), "htb ");
  EXPECT_EQ(needs("rate=1mbit,overhead=24"), "single ");
  EXPECT_EQ(needs("rate=1mbit,place=switch"), "ifb ");
  EXPECT_EQ(needs("rate=1mbit,shaper=netem"), "netem single ");
  EXPECT_EQ(needs("delay=1ms"), "netem single ");
  EXPECT_EQ(needs("up.delay=1ms"), "netem ifb single ");
  EXPECT_EQ(needs("loss=1%"), "netem single disturbs");
}

TEST(LinkSpec, ExpandsAlternatives) {
  const auto links = expand_link_specs("rate=10mbit|100mbit|1gbit,burst=16kb");
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[1].rate(), 100e6);
  EXPECT_EQ(links[2].up.burst, 16384U);
  EXPECT_EQ(expand_link_specs("lte|wifi,loss=0%|1%").size(), 4U);
}

TEST(LinkSpec, RefusesWhatNoLinkCanBe) {
  EXPECT_NE(link_error(""), "");
  const std::vector<std::string> links = words_in(R"(
      rate rate= rate=0 rate=0mbit rate=999bit rate=-5mbit rate=fast rate=100.1gbit rate=900gbit
      rate=1mbit,rate=2mbit burst=16kb queue=16kb overhead=24 shaper=htb rate=1mbit,burst=100
      rate=1mbit,burst=1513 rate=1mbit,mtu=9000,burst=9000 rate=1kbit,burst=1mb
      rate=1mbit,shaper=netem,burst=16kb rate=1mbit,queue=100 rate=1mbit,queue=2bdp
      rate=1mbit,delay=1ms,queue=0bdp rate=1mbit,delay=1ms,queue=bdp
      rate=1mbit,delay=1ms,queue=-1bdp rate=1mbit,colour=red rate=1mbit, ,rate=1mbit
      rate=10mbit||1mbit up.rate=1mbit,down.queue=64kb left.rate=1mbit up.mtu=1500 delay=10
      delay=-1ms delay=101s delay=1h delay=nanms delay=1ms,jitter=3s delay=1ms,jitter=1ms/2ms
      delay=1ms,jitter=1ms/25% delay=1ms,dist=normal delay=1ms,jitter=1ms,dist=cauchy
      delay=1ms,jitter=1ms,dist=table: loss=1 loss=0.01 loss=101% loss=-1% loss=nan% loss=% loss=1%%
      loss=1%/2%/3% loss=1%/100% loss=ge: loss=ge:1%/2%/3%/4%/5% loss=ge:1 reorder=1%
      delay=1ms,gap=5 delay=1ms,reorder=1%,gap=0 rate=1mbit,mtu=575 rate=1mbit,mtu=9217
      rate=1mbit,mtu=1500.5 rate=1mbit,place=here rate=1mbit,seed=-1 rate=1mbit,overhead=257
      rate=1mbit,overhead=-24 rate=1mbit,shaper=cbq rate=1mbit,lte
      wan-100ms,delay=0s,queue=2bdp)");
  for (const std::string& text : links) EXPECT_NE(link_error(text), "") << text;
}

TEST(LinkSpec, ErrorsNameTheFieldAndWhatIsExpected) {
  const auto expect_in = [](const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts)
      EXPECT_NE(link_error(text).find(part), std::string::npos) << text << ": " << link_error(text);
  };
  expect_in("rate=1mbit,brust=16kb", {"brust", "did you mean 'burst'?"});
  expect_in("rate=1mbit,up.dealy=1ms", {"up.dealy", "did you mean 'up.delay'?"});
  expect_in("ltee", {"'ltee'", "key=value", "did you mean 'lte'?"});
  expect_in("rate=1mbit,up.loss=0.01", {"up.loss", "'0.01' is not a percentage", "0.1%"});
  expect_in("rate=200gbit", {"rate", "200gbit", "1kbit to 100gbit"});
  expect_in("rate=1mbit,mtu=100", {"mtu", "'100'", "576 to 9216"});
  expect_in("rate=1mbit,queue=2bdp", {"queue=2bdp", "needs a delay"});
  expect_in("rate=1mbit,mtu=9000,burst=5000", {"burst=5000", "9014"});
  expect_in("delay=1ms,dist=normal", {"dist", "needs a jitter"});
  expect_in("delay=1ms,jitter=1ms/25%", {"jitter", "'1ms/25%'", "netem accepts and ignores"});
}

TEST(LinkSpec, FillsDefaults) {
  const LinkSpec filled = parse_link_spec("up.rate=10mbit,down.rate=100mbit").with_defaults();
  EXPECT_EQ(filled.up.burst, 3029U);      // as DefaultBurst has it
  EXPECT_EQ(filled.down.burst, 12500U);   // 1 ms
  EXPECT_EQ(filled.up.queue, 262144U);    // 50 ms would be 62500
  EXPECT_EQ(filled.down.queue, 625000U);  // 50 ms
  // A round trip of 200 ms at 100 Mbit/s is 2.5 MB; half of it when requested.
  EXPECT_EQ(parse_link_spec("rate=100mbit,delay=100ms").with_defaults().up.queue, 2500000U);
  EXPECT_EQ(parse_link_spec("rate=100mbit,delay=100ms,queue=0.5bdp").with_defaults().up.queue,
            1250000U);
  // Never less than a frame.
  EXPECT_EQ(parse_link_spec("rate=1mbit,delay=1ms,queue=1bdp").with_defaults().up.queue, 1514U);
  EXPECT_EQ(parse_link_spec("rate=1mbit,shaper=netem").with_defaults().up.burst, 0U);
}

TEST(LinkSpec, CeilingCountsMtuOverheadAndTheSlowerWay) {
  EXPECT_NEAR(parse_link_spec("rate=100mbit").tcp_ceiling(), 100e6 * 1448 / 1514, 1);
  EXPECT_NEAR(parse_link_spec("rate=1gbit,overhead=24").tcp_ceiling(), 1e9 * 1448 / 1538, 1);
  EXPECT_NEAR(parse_link_spec("rate=1gbit,mtu=9000").tcp_ceiling(), 1e9 * 8948 / 9014, 1);
  EXPECT_NEAR(parse_link_spec("up.rate=1mbit,down.rate=8mbit").tcp_ceiling(), 1e6 * 1448 / 1514, 1);
}

TEST(GilbertElliott, LosesTheShareOfItsStates) {
  EXPECT_NEAR((GilbertElliott{1, 9, 100, 0}).mean_loss(), 10, 1e-9);  // bad 1 / (1 + 9) of the time
  EXPECT_NEAR((GilbertElliott{1, 9, 50, 10}).mean_loss(), 0.1 * 50 + 0.9 * 10, 1e-9);
}

TEST(DefaultBurst, IsWholeMicrosecondsAndHoldsAFrame) {
  for (const double rate : {1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 2.5e8, 1e9, 1e10, 3e10, 1e11}) {
    const double micros = default_burst(rate) / (rate / 8e6);
    EXPECT_GE(default_burst(rate), static_cast<std::uint32_t>(kFrameBytes)) << rate;
    EXPECT_LT(micros - std::floor(micros + 1e-9), 1.0 / (rate / 8e6) + 1e-6) << rate;
  }
}

TEST(DefaultBurst, FollowsTheRule) {
  EXPECT_EQ(default_burst(10e6), 3029U);     // 2423 us of 1.25 B are two frames of 1514 B
  EXPECT_EQ(default_burst(100e6), 12500U);   // 1 ms
  EXPECT_EQ(default_burst(1e9), 125000U);    // 1 ms
  EXPECT_EQ(default_burst(10e9), 1250000U);  // 1 ms
  EXPECT_EQ(default_burst(1e6, 9014), 18028U);
}

TEST(TcpCeiling, IsThePayloadsShareOfAFrame) {
  EXPECT_NEAR(tcp_ceiling(100e6), 95.64e6, 0.01e6);  // 1448 / 1514
}

TEST(LinkPresets, AreLinksWithASource) {
  std::set<std::string> names;
  for (const LinkPreset& preset : link_presets()) {
    EXPECT_EQ(parse_link_spec(preset.name), parse_link_spec(preset.spec)) << preset.name;
    EXPECT_TRUE(parse_link_spec(preset.name).throttled()) << preset.name;
    EXPECT_GT(std::string(preset.source).size(), 20U) << preset.name;
    EXPECT_TRUE(names.insert(preset.name).second) << preset.name;
  }
  for (const char* wanted : {"ethernet-1g", "ethernet-10g", "wan-100ms", "lte", "adsl", "wifi",
                             "geo-satellite", "aws-25g"})
    EXPECT_TRUE(names.contains(wanted)) << wanted;
}

TEST(LinkPresets, CanBeOverridden) {
  const LinkSpec slower = parse_link_spec("lte,rate=5mbit");
  EXPECT_EQ(slower.up.rate, 5e6);
  EXPECT_EQ(slower.down.rate, 5e6);
  EXPECT_EQ(slower.delay(), parse_link_spec("lte").delay());
  // A delay without a prefix happens once: it replaces those of both directions.
  EXPECT_EQ(parse_link_spec("lte,delay=10ms").to_string(), "rate=12mbit,delay=10ms");
  EXPECT_EQ(parse_link_spec("lte,delay=0ms").to_string(), "rate=12mbit");
  EXPECT_EQ(parse_link_spec("adsl,up.rate=1mbit").up.rate, 1e6);
  // Without a delay, the preset's queue of one round trip has no meaning.
  EXPECT_EQ(parse_link_spec("wan-100ms,delay=0s").to_string(), "rate=100mbit");
}

TEST(LinkPresets, AreAsFarApartAsTheirNamesSay) {
  EXPECT_DOUBLE_EQ(parse_link_spec("wan-100ms").round_trip(), 0.1);
  EXPECT_DOUBLE_EQ(parse_link_spec("geo-satellite").round_trip(), 0.558);
}

TEST(LinkJson, HasTheLinkInPlainUnits) {
  EXPECT_EQ(link_json(parse_link_spec("rate=100mbit,down.overhead=24,delay=10ms,loss=1%/50%")),
            ordered_json::parse(R"({
    "text": "rate=100mbit,down.overhead=24,delay=10ms,loss=1%/50%", "rate": 1e8, "delay": 0.01,
    "mtu": 1500, "place": "sender",
    "up": {"rate": 1e8, "shaper": "tbf", "burst": 12500, "queue": 625000, "overhead": 0,
           "delay": 0.0},
    "down": {"rate": 1e8, "shaper": "tbf", "burst": 12500, "queue": 625000, "overhead": 24,
             "delay": 0.01, "loss": {"share": 0.01, "correlation": 0.5}}})"));
}

TEST(LinkJson, LeavesOutWhatNeverHappens) {
  EXPECT_EQ(link_json(LinkSpec{}), ordered_json::parse(R"({
    "text": "unthrottled", "rate": null, "delay": 0.0, "mtu": 1500, "place": "sender",
    "up": {"rate": null, "delay": 0.0}, "down": {"rate": null, "delay": 0.0}})"));
}

TEST(LinkJson, HasEveryImpairment) {
  const ordered_json json = link_json(parse_link_spec(
      "rate=1mbit,shaper=netem,place=switch,mtu=9000,seed=7,delay=10ms,jitter=1ms,dist=table:x."
      "dist,loss=ge:1%/9%/100%/0%,reorder=1%,gap=5,duplicate=2%,corrupt=3%"));
  EXPECT_EQ(json["down"], ordered_json::parse(R"({
    "rate": 1e6, "shaper": "netem", "queue": 262144, "overhead": 0, "delay": 0.01,
    "jitter": 0.001, "distribution": "table", "table": "x.dist",
    "loss": {"to_bad": 0.01, "to_good": 0.09, "lost_in_bad": 1.0, "lost_in_good": 0.0,
             "share": 0.1},
    "reorder": {"share": 0.01, "correlation": 0.0, "gap": 5},
    "duplicate": {"share": 0.02, "correlation": 0.0},
    "corrupt": {"share": 0.03, "correlation": 0.0}})"));
  EXPECT_EQ(json["seed"], 7);
  EXPECT_EQ(json["place"], "switch");
}

}  // namespace

}  // namespace thinpipe
