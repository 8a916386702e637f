#include "base/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace thinpipe {
namespace {

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("topk", "topk"), 0U);
  EXPECT_EQ(edit_distance("tpok", "topk"), 1U);  // two neighbours swapped
  EXPECT_EQ(edit_distance("top", "topk"), 1U);   // one insertion
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);  // the textbook's example
}

TEST(Nearest, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> names = {"topk", "sidco", "none"};
  EXPECT_EQ(nearest("topkk", names), "topk");
  EXPECT_EQ(nearest("sidko", names), "sidco");
  EXPECT_EQ(nearest("gaussian", names), "");
  EXPECT_EQ(did_you_mean("nome", names), "; did you mean 'none'?");
  EXPECT_EQ(did_you_mean("zzzzzz", names), "");
}

TEST(Excerpt, RepeatsLongTextByItsBeginning) {
  EXPECT_EQ(excerpt("topk:ratio=0.1"), "topk:ratio=0.1");
  EXPECT_EQ(excerpt(std::string(120, 'a')), std::string(120, 'a'));
  EXPECT_EQ(excerpt(std::string(100'000, 'a')), std::string(60, 'a') + "... (100000 characters)");
  EXPECT_EQ(in_quotes("a"), "'a'");
}

TEST(Excerpt, CutsNoLetterInTwo) {
  std::string text = std::string(59, 'a');
  for (int i = 0; i < 100; ++i) text += "ü";
  EXPECT_EQ(excerpt(text), std::string(59, 'a') + "... (259 characters)");
}

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
