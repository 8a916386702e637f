#include "netem/link/link_keys.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace thinpipe {
namespace {

using nlohmann::ordered_json;

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
