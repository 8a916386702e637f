#include "base/numbers.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Numbers, AllOfTheTextIsTheNumber) {
  EXPECT_EQ(parse_number<int>("42"), 42);
  EXPECT_EQ(parse_number<int>("042"), 42);
  EXPECT_EQ(parse_number<int>("-42"), -42);
  EXPECT_EQ(parse_number<double>("2.5e-3"), 0.0025);
  for (const std::string text : {"", " 4", "4 ", "+4", "4x", "0x4", "4,0", "--4", "-", "."}) {
    EXPECT_FALSE(parse_number<int>(text)) << text;
    EXPECT_FALSE(parse_number<double>(text)) << text;
  }
  EXPECT_FALSE(parse_number<int>("4.0"));
  EXPECT_FALSE(parse_number<int>("4e2"));
  EXPECT_FALSE(parse_number<int>(std::string_view("4\0", 2)));
}

TEST(Numbers, BothBoundsHold) {
  EXPECT_EQ(parse_number<int>("0", 0, 3), 0);
  EXPECT_EQ(parse_number<int>("3", 0, 3), 3);
  EXPECT_FALSE(parse_number<int>("4", 0, 3));
  EXPECT_FALSE(parse_number<int>("-1", 0, 3));
  EXPECT_FALSE(parse_number<double>("-0.1", 0, 1));
  EXPECT_FALSE(parse_number<double>("1.1", 0, 1));
}

TEST(Numbers, AMinusOnlyWhereNumbersMayBeNegative) {
  EXPECT_FALSE(parse_number<int>("-0", 0, 3));
  EXPECT_FALSE(parse_number<double>("-0", 0, 3));
  EXPECT_FALSE(parse_number<unsigned>("-1"));
  EXPECT_FALSE(parse_number<std::uint64_t>("-0"));
  EXPECT_EQ(parse_number<double>("-0.5", -1, 1), -0.5);
}

TEST(Numbers, WhatNoTypeHoldsIsRefusedInsteadOfNarrowed) {
  EXPECT_FALSE(parse_number<int>("2147483648"));
  EXPECT_FALSE(parse_number<std::uint64_t>("18446744073709551616"));
  EXPECT_EQ(parse_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_FALSE(parse_number<double>("1e999"));
  EXPECT_FALSE(parse_number<double>("1e-999"));
}

TEST(Numbers, NeitherInfiniteNorNotANumber) {
  for (const std::string text : {"inf", "-inf", "nan", "-nan", "infinity", "nan(1)", "NaN", "INF"})
    EXPECT_FALSE(parse_number<double>(text)) << text;
}

TEST(Numbers, ASuffixMustBeThereAndNothingElse) {
  EXPECT_EQ(parse_number_with<double>("%", "2.5%", 0, 100), 2.5);
  EXPECT_EQ(parse_number_with<double>("x", "1e2x"), 100);
  for (const std::string text : {"2.5", "%", "2.5 %", "2.5%%", "-1%", "101%", "nan%", ""})
    EXPECT_FALSE(parse_number_with<double>("%", text, 0, 100)) << text;
}

}  // namespace
}  // namespace thinpipe
