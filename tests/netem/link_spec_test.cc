#include "netem/link_spec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace thinpipe {
namespace {

TEST(LinkSpec, ParsesAndPrintsTheSameLink) {
  for (const char* text : {"rate=100mbit", "rate=1gbit,burst=131072", "rate=2.5mbit,queue=262144",
                           "rate=10kbit,burst=2000,queue=5000"}) {
    EXPECT_EQ(parse_link_spec(text).to_string(), text);
    EXPECT_EQ(parse_link_spec(parse_link_spec(text).to_string()), parse_link_spec(text));
  }
}

TEST(LinkSpec, ExpandsAlternatives) {
  const auto links = expand_link_specs("rate=10mbit|100mbit|1gbit,burst=16kb");
  ASSERT_EQ(links.size(), 3U);
  EXPECT_EQ(links[1].rate, 100e6);
  EXPECT_EQ(links[2].burst, 16384U);
}

TEST(LinkSpec, RefusesWhatNoLinkCanBe) {
  for (const char* text :
       {"", "rate", "rate=", "rate=0", "rate=0mbit", "rate=-5mbit", "rate=fast", "rate=900gbit",
        "rate=1mbit,rate=2mbit", "burst=16kb", "rate=1mbit,burst=100", "rate=1mbit,colour=red",
        "rate=1mbit,", "rate=10mbit||1mbit"})
    EXPECT_THROW(expand_link_specs(text), InputError) << text;
}

TEST(LinkSpec, NamesTheNearestKey) {
  try {
    parse_link_spec("rate=1mbit,brust=16kb");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'burst'?"), std::string::npos);
  }
}

TEST(DefaultBurst, IsWholeMicrosecondsAndHoldsAFrame) {
  for (const double rate : {1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 2.5e8, 1e9, 1e10, 3e10}) {
    const double micros = default_burst(rate) / (rate / 8e6);
    EXPECT_GE(default_burst(rate), static_cast<std::uint32_t>(kFrameBytes)) << rate;
    // libnl cuts the bucket to whole microseconds of transmit time: less than a byte may be lost.
    EXPECT_LT(micros - std::floor(micros + 1e-9), 1.0 / (rate / 8e6) + 1e-6) << rate;
  }
}

TEST(DefaultBurst, FollowsTheRule) {
  EXPECT_EQ(default_burst(10e6), 3029U);     // 2423 us of 1.25 B hold two frames of 1514 B
  EXPECT_EQ(default_burst(100e6), 12500U);   // 1 ms
  EXPECT_EQ(default_burst(1e9), 125000U);    // 1 ms
  EXPECT_EQ(default_burst(10e9), 1250000U);  // 1 ms
}

TEST(TcpCeiling, IsThePayloadsShareOfAFrame) {
  EXPECT_NEAR(tcp_ceiling(100e6), 95.64e6, 0.01e6);  // 1448 / 1514
}

}  // namespace
}  // namespace thinpipe
