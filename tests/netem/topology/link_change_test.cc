#include "netem/topology/link_change.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace thinpipe {
namespace {

LinkSpec changed(const char* base, const char* change, const char* reference) {
  return LinkChange::parse(change).applied_to(parse_link_spec(base), parse_link_spec(reference));
}

TEST(LinkChange, LeavesWhatItDoesNotName) {
  EXPECT_EQ(changed("rate=100mbit,delay=5ms", "rate=10mbit", "rate=1gbit"),
            parse_link_spec("rate=10mbit,delay=5ms"));
  EXPECT_EQ(changed("rate=100mbit", "(delay=5ms)", "rate=1gbit"),
            parse_link_spec("rate=100mbit,delay=5ms"));
  EXPECT_EQ(changed("rate=100mbit,delay=5ms", "unthrottled", "rate=1gbit"), LinkSpec{});
  EXPECT_EQ(LinkChange().applied_to(parse_link_spec("rate=1mbit"), {}),
            parse_link_spec("rate=1mbit"));
}

TEST(LinkChange, ANameIsAWholeLink) {
  EXPECT_EQ(changed("rate=100mbit,loss=1%", "wan-100ms,rate=7mbit", "rate=1gbit"),
            parse_link_spec("wan-100ms,rate=7mbit"));
}

TEST(LinkChange, ARateForBothDirectionsReplacesThoseOfEach) {
  EXPECT_EQ(changed("up.rate=1mbit,down.rate=8mbit", "rate=5mbit", "rate=1gbit"),
            parse_link_spec("rate=5mbit"));
  EXPECT_EQ(changed("rate=8mbit", "up.rate=1mbit", "rate=1gbit"),
            parse_link_spec("rate=8mbit,up.rate=1mbit"));
}

TEST(LinkChange, MultiplesAreOfTheReference) {
  EXPECT_EQ(changed("rate=7mbit,delay=5ms", "rate=0.1x", "rate=100mbit"),
            parse_link_spec("rate=10mbit,delay=5ms"));
  EXPECT_EQ(changed("rate=7mbit", "rate=2x", "up.rate=1mbit,down.rate=8mbit"),
            parse_link_spec("up.rate=2mbit,down.rate=16mbit"));
  EXPECT_EQ(changed("rate=7mbit", "down.rate=2x", "rate=100mbit"),
            parse_link_spec("rate=7mbit,down.rate=200mbit"));
  EXPECT_THROW(changed("rate=7mbit", "rate=2x", "unthrottled"), InputError);
  EXPECT_THROW(changed("rate=7mbit", "rate=1000x", "rate=100gbit"), InputError);
}

TEST(LinkChange, TextIsCanonical) {
  EXPECT_EQ(LinkChange::parse("(delay=5ms,rate=1000kbit)").to_string(), "rate=1mbit,delay=5ms");
  EXPECT_EQ(LinkChange::parse("lte,rate=0.5x").to_string(), "lte,rate=0.5x");
}

TEST(LinkChange, ErrorsNameTheKey) {
  for (const char* text : {"", "()", "rat=1mbit", "rate=", "rate=x", "rate=-1x", "rate=nanx",
                           "rate=1mbit,rate=2mbit", "delay=5", "rate=1mbit|2mbit", "lt"})
    EXPECT_THROW(LinkChange::parse(text), InputError) << text;
}

}  // namespace
}  // namespace thinpipe
