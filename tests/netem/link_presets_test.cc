#include "netem/link_presets.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "netem/link_spec.h"

namespace thinpipe {
namespace {

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
}

TEST(LinkPresets, AreAsFarApartAsTheirNamesSay) {
  EXPECT_DOUBLE_EQ(parse_link_spec("wan-100ms").round_trip(), 0.1);
  EXPECT_DOUBLE_EQ(parse_link_spec("geo-satellite").round_trip(), 0.558);
}

}  // namespace
}  // namespace thinpipe
