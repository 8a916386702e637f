#include "base/units.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(ParseRate, ReadsWhatTcReads) {
  EXPECT_EQ(parse_rate("100mbit"), 100e6);
  EXPECT_EQ(parse_rate("1gbit"), 1e9);
  EXPECT_EQ(parse_rate("2.5kbit"), 2500);
  EXPECT_EQ(parse_rate("9600"), 9600);
  EXPECT_EQ(parse_rate("9600bit"), 9600);
}

TEST(ParseSize, CountsKilobytesAs1024) {
  EXPECT_EQ(parse_size("16kb"), 16384);
  EXPECT_EQ(parse_size("1500"), 1500);
  EXPECT_EQ(parse_size("1mb"), 1048576);
}

TEST(ParseTime, NeedsAUnit) {
  EXPECT_DOUBLE_EQ(parse_time("10ms"), 0.01);
  EXPECT_DOUBLE_EQ(parse_time("1.5s"), 1.5);
  EXPECT_THROW(parse_time("10"), InputError);
}

TEST(ParseUnits, RefusesWhatIsNoQuantity) {
  for (const char* text :
       {"", "mbit", "-1mbit", "1e400mbit", "nan", "inf", "1 mbit", "1mbits", "0x10", "-0"})
    EXPECT_THROW(parse_rate(text), InputError) << text;
}

TEST(ParseUnits, RefusesWhatIsInfiniteInItsUnit) {
  EXPECT_THROW(parse_rate("1e305gbit"), InputError);  // 1e314 bit/s
  EXPECT_THROW(parse_size("1e308kb"), InputError);
  EXPECT_EQ(parse_rate("1e290gbit"), 1e299);
}

TEST(ParseUnits, SaysWhatItExpected) {
  try {
    parse_rate("10furlong");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("'10furlong' is not a rate"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("mbit"), std::string::npos);
  }
}

TEST(FormatUnits, KeepThreeDigits) {
  EXPECT_EQ(format_rate(95.64e6), "95.6 Mbit/s");
  EXPECT_EQ(format_rate(1e9), "1 Gbit/s");
  EXPECT_EQ(format_time(0.0123), "12.3 ms");
  EXPECT_EQ(format_time(4.31e-6), "4.31 us");
  EXPECT_EQ(format_time(2), "2 s");
  EXPECT_EQ(format_bytes(1724320), "1.72 MB");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(34000), "34 kB");
  EXPECT_EQ(format_time(2.5e-5), "25 us");
  EXPECT_EQ(format_time(0), "0 s");
  EXPECT_EQ(format_time(-0.0123), "-12.3 ms");
  EXPECT_EQ(format_time(12345), "12345 s");
  EXPECT_EQ(format_rate(2.5e9), "2.5 Gbit/s");
  EXPECT_EQ(format_rate(0), "0 bit/s");
}

TEST(FormatUnits, WhatRoundsUpToTheNextUnitIsWrittenInIt) {
  EXPECT_EQ(format_bytes(999.9e3), "1 MB");
  EXPECT_EQ(format_bytes(999.4e3), "999 kB");
  EXPECT_EQ(format_time(0.9999), "1 s");
  EXPECT_EQ(format_rate(999.6e6), "1 Gbit/s");
}

TEST(FormatUnits, WhatIsNoFigureHasNoUnit) {
  EXPECT_EQ(format_time(std::nan("")), "not a number");
  EXPECT_EQ(format_rate(std::numeric_limits<double>::infinity()), "infinite");
}

}  // namespace
}  // namespace thinpipe
