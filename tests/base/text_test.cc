// Text as people read and write it: words, numbers, keys with values, what a terminal or a page
// shows, plain tables, and units.
#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/escape.h"
#include "base/key_values.h"
#include "base/plain_table.h"
#include "base/units.h"
#include "base/visible.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Parts = std::vector<std::string>;

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(WordsIn, BlanksSeparate) {
  EXPECT_EQ(words_in(" a\tb \n\r\v\f c"), (Parts{"a", "b", "c"}));
  EXPECT_EQ(words_in("a b "), (Parts{"a", "b"}));
  EXPECT_EQ(words_in(""), Parts());
  EXPECT_EQ(words_in(" \n"), Parts());
}

TEST(AddOnce, ReturnsThePlace) {
  std::vector<std::string> texts;
  EXPECT_EQ(add_once(texts, "a"), 0U);
  EXPECT_EQ(add_once(texts, "bb"), 1U);
  EXPECT_EQ(add_once(texts, "a"), 0U);
  const auto length = [](const std::string& text) { return text.size(); };
  EXPECT_EQ(add_once(texts, "c", length), 0U);  // as long as "a"
  EXPECT_EQ(texts, (Parts{"a", "bb"}));
}

TEST(EscapeHtml, TakesMarkupAndControlCharactersForText) {
  EXPECT_EQ(escape_html("<a href=\"x\" id='y'>&"),
            "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
  EXPECT_EQ(escape_html(std::string("a\0b\x1b", 4)),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
}

TEST(PlainFileName, KeepsWhatTellsSpecsApart) {
  EXPECT_EQ(plain_file_name("topk:ratio=0.01|rate=1gbit|s0+200"),
            "topk-ratio=0.01-rate=1gbit-s0-200");
  EXPECT_EQ(plain_file_name("threshold:tau=1e-05"), "threshold-tau=1e-05");
  EXPECT_EQ(plain_file_name("threshold:tau=1e+05"), "threshold-tau=1e+05");
  EXPECT_EQ(plain_file_name("rate+1, e+ (x)"), "rate-1-e-x");
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

TEST(Visible, WritesWhatATerminalObeysAsEscapes) {
  EXPECT_EQ(visible_text("\x1b[2Jmodel\x1b]0;title\x07"), "\\x1b[2Jmodel\\x1b]0;title\\x07");
  EXPECT_EQ(visible_text("a\rb\b\x7f"), "a\\x0db\\x08\\u007f");
  EXPECT_EQ(visible_text("\xc2\x9b"
                         "31m"),
            "\\u009b31m");  // CSI of C1, as UTF-8
  EXPECT_EQ(visible_text("\x9b"
                         "31m"),
            "\\x9b31m");  // and as one byte
  EXPECT_EQ(visible_text("\xe2\x80\xae"
                         "evil"),
            "\\u202eevil");                                               // right-to-left override
  EXPECT_EQ(visible_text("\xe2\x81\xa6\xe2\x81\xa9"), "\\u2066\\u2069");  // isolates
  EXPECT_EQ(visible_text("\xd8\x9c"), "\\u061c");
  EXPECT_EQ(visible_text(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Visible, LeavesTheRest) {
  // k with a hat, Greek, Hangul, an emoji of four bytes, Latin-1's u with dots as a stray byte.
  const std::string text =
      "k\xcc\x82 \xce\xb1 \xed\x95\x9c \xf0\x9f\x98\x80 \xfc \\x1b \"<&>\" \xe2\x80\x93";
  EXPECT_EQ(visible_text(text), text);
  EXPECT_EQ(visible_line(text), text);
  EXPECT_EQ(visible_text("a\tb\n"), "a\tb\n");
  EXPECT_EQ(visible_line("a\tb\n"), "a\\x09b\\x0a");
  EXPECT_EQ(visible_text(""), "");
}

TEST(Visible, TakesBrokenUtf8ByteByByte) {
  EXPECT_EQ(visible_text("\xe2\x80"), "\xe2\\x80");    // the beginning of an override
  EXPECT_EQ(visible_text("\xe2\x1b["), "\xe2\\x1b[");  // an escape behind half a character
  EXPECT_EQ(visible_text("\xf0\x9f\x1b"), "\xf0\\x9f\\x1b");
  EXPECT_EQ(visible_text("\xc0\x9b"), "\xc0\\x9b");  // overlong
}

TEST(TextColumns, CombiningCharactersTakeNone) {
  EXPECT_EQ(text_columns("k^"), 2U);
  EXPECT_EQ(text_columns("k\xcc\x82/k"), 3U);  // k with a hat
  EXPECT_EQ(text_columns("\xc2\xb1"
                         "90%"),
            4U);
}

TEST(PlainTable, ColumnsAreAsWideAsWhatIsInThem) {
  PlainTable table({"name", "unit", "long\nhead", "x"}, 2);
  EXPECT_TRUE(table.empty());
  table.add({"a", "ms", "1", "22.5"});
  table.add({"bcdefg", "", "1234567", ""});
  EXPECT_EQ(table.text(),
            "name    unit     long     x\n"
            "                 head\n"
            "a       ms          1  22.5\n"
            "bcdefg        1234567\n");
}

TEST(PlainTable, LongNamesHaveLinesOfTheirOwnAndLoseNothing) {
  PlainTable table({"compressor", "a", "b"});
  const std::string name = "sidco:dist=exp,ratio=0.001,stages=3";
  table.add({name, "11111", "22222"});
  table.add({"none", "1", "2"});
  EXPECT_EQ(table.text(24),
            "compressor       a     b\n"
            "sidco:dist=exp,\n"
            "    ratio=0.001,stages=3\n"
            "             11111 22222\n"
            "none             1     2\n");
  // One blank between columns is enough before anything is folded.
  EXPECT_EQ(table.text(name.size() + 12).find('\n'), name.size() + 12);
}

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
  EXPECT_THAT(input_error([] { parse_rate("10furlong"); }),
              AllOf(HasSubstr("'10furlong' is not a rate"), HasSubstr("mbit")));
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

TEST(ShellQuoted, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_quoted({"thinpipe", "run", "--links", "rate=10mbit|1gbit", "it's", ""}),
            "thinpipe run --links 'rate=10mbit|1gbit' 'it'\\''s' ''");
  EXPECT_EQ(shell_quoted({"$(reboot)", "a;b"}), "'$(reboot)' 'a;b'");
}

TEST(SplitOutside, LeavesParenthesesWhole) {
  EXPECT_EQ(split_outside("a=(b=1,c=2),d", ','), (Parts{"a=(b=1,c=2)", "d"}));
  EXPECT_EQ(split_outside("", ','), Parts{""});
  for (const char* wrong : {"(", ")", "a)(b", "((a))", "(a,b"})
    EXPECT_FALSE(split_outside(wrong, ',')) << wrong;
}

TEST(KeyValues, AreTakenOneByOne) {
  KeyValues items = KeyValues::after_name("thing", "name:b=2,a=1,c=three,at=(x=1,y=2)");
  EXPECT_EQ(items.number("a", 7, 0, 10), 1);
  EXPECT_EQ(items.number<std::uint64_t>("b", std::nullopt, 0, 10), 2U);
  EXPECT_EQ(items.number("d", 7, 0, 10), 7) << "as it is not given";
  EXPECT_EQ(items.choice("c", {"one", "two", "three"}), 2U);
  EXPECT_EQ(items.choice("e", {"one", "two"}), 0U);
  EXPECT_EQ(items.take("at"), "(x=1,y=2)");
  EXPECT_TRUE(items.given("at"));
  EXPECT_FALSE(items.find("at"));
  EXPECT_NO_THROW(items.finish());
  EXPECT_TRUE(KeyValues::after_name("thing", "name").left().empty());
}

TEST(KeyValues, AreTakenByWhatTheirKeysAre) {
  KeyValues items("thing", "1s=a,b=c,2s=d", "1s=a,b=c,2s=d");
  const auto digits = [](const std::string& key) { return key[0] >= '0' && key[0] <= '9'; };
  const auto taken = items.take_if(digits);
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[1].key + taken[1].value, "2sd");
  ASSERT_EQ(items.left().size(), 1U);
  EXPECT_EQ(items.left()[0].key, "b");
}

TEST(KeyValues, SayWhatIsWrong) {
  struct Wrong {
    const char *text, *complaint;
    std::function<void(KeyValues&)> read;
  };
  const auto nothing = [](KeyValues&) {};
  const auto number = [](KeyValues& items) { items.number("a", 1, 0, 0.5); };
  const auto whole = [](KeyValues& items) { items.number<int>("a", std::nullopt, 1, 9); };
  const auto time = [](KeyValues& items) { items.read("a", items.take("a"), parse_time); };
  const auto choice = [](KeyValues& items) { items.choice("a", {"ready", "reverse"}); };
  const auto finish = [](KeyValues& items) { items.find("size"), items.finish("moments"); };
  for (const Wrong& wrong : {
           Wrong{"a", "thing 'a': expected key=value, found 'a'", nothing},
           Wrong{"a=", "thing 'a=': expected key=value, found 'a='", nothing},
           Wrong{"=1", "thing '=1': expected key=value, found '=1'", nothing},
           Wrong{"", "thing '': expected key=value, found ''", nothing},
           Wrong{"a=1,,b=2", "thing 'a=1,,b=2': expected key=value, found ''", nothing},
           Wrong{"a=1,a=2", "thing 'a=1,a=2': a is given twice", nothing},
           Wrong{"a=1", "thing 'a=1': a=1: expected a number from 0 to 0.5", number},
           Wrong{"a=x", "thing 'a=x': a=x: expected a number from 0 to 0.5", number},
           Wrong{"a=1.5", "thing 'a=1.5': a=1.5: expected a whole number from 1 to 9", whole},
           Wrong{"b=1", "thing 'b=1': a= is missing", whole},
           Wrong{"a=1h", "thing 'a=1h': a=1h: '1h' is not a time", time},
           Wrong{"a=redy",
                 "thing 'a=redy': a=redy: expected one of ready, reverse; did you mean 'ready'?",
                 choice},
           Wrong{"siz=1",
                 "thing 'siz=1': unknown key 'siz' (known: size and moments); did you mean 'size'?",
                 finish},
       }) {
    const auto attempt = [&] {
      KeyValues items("thing", wrong.text, wrong.text);
      wrong.read(items);
    };
    EXPECT_THAT(input_error(attempt), StartsWith(wrong.complaint));
  }
}

}  // namespace
}  // namespace thinpipe
