// Units, labels, escapes: what a person reads.
#include "reports/text/phrases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reports/text/escape.h"
#include "reports/text/provenance.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Units, ThreeSignificantDigits) {
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(2.0), "2");
  EXPECT_EQ(format_number(0.12345), "0.123");
  EXPECT_EQ(format_number(12.345), "12.3");
  EXPECT_EQ(format_number(1234.5), "1234");  // digits before the point are never dropped
  EXPECT_EQ(format_number(0.9999), "1");     // rounds up to the next decade
  EXPECT_EQ(format_number(9.999), "10");
  EXPECT_EQ(format_number(-0.5), "-0.5");
  EXPECT_EQ(format_number(1e-7), "1.00e-07");
  EXPECT_EQ(format_number(std::nan("")), "not a number");
}

TEST(Units, Percent) { EXPECT_EQ(format_percent(0.123), "12.3 %"); }

TEST(Labels, SayWhatTellsSpecsApart) {
  EXPECT_THAT(short_labels({"none", "topk:memory=residual,ratio=0.1",
                            "topk:memory=residual,ratio=0.01", "3lc:s=1.75"}),
              ElementsAre("none", "topk ratio=0.1", "topk ratio=0.01", "3lc"));
  EXPECT_THAT(short_labels({"topk", "topk:ratio=0.1"}), ElementsAre("topk", "topk ratio=0.1"));
}

TEST(Labels, AreNeverShared) {
  // Both have the same parameters, so none would be worth writing.
  EXPECT_THAT(short_labels({"a:x=1,y=2", "a:y=2,x=1"}), ElementsAre("a:x=1,y=2", "a:y=2,x=1"));
}

TEST(Lists, ReadAsEnglish) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"a"}), "a");
  EXPECT_EQ(listed({"a", "b"}), "a and b");
  EXPECT_EQ(listed({"a", "b", "c", "d", "e"}), "a, b, c, d and e");
  EXPECT_EQ(listed({"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d and 3 others");
}

TEST(Escape, Html) {
  EXPECT_EQ(escape_html("<a href=\"x\" id='y'>&"),
            "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;");
  EXPECT_EQ(escape_html(std::string("a\0b\x1b", 4)),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
}

TEST(Escape, Markdown) {
  EXPECT_EQ(escape_markdown("a|b\n# *c* `d` [e](f) <g>"),
            "a\\|b \\# \\*c\\* \\`d\\` \\[e\\](f) &lt;g&gt;");
  EXPECT_THAT(escape_markdown("see http://a.example"), Not(HasSubstr("://")));
}

TEST(Escape, Shell) {
  EXPECT_EQ(shell_quoted({"thinpipe", "run", "--links", "rate=10mbit|1gbit", "it's", ""}),
            "thinpipe run --links 'rate=10mbit|1gbit' 'it'\\''s' ''");
  EXPECT_EQ(shell_quoted({"$(reboot)", "a;b"}), "'$(reboot)' 'a;b'");
}

TEST(Provenance, FlattensNestedObjects) {
  const NamedValues values = flattened({{"a", {{"b", 1}, {"c", "x"}}}, {"d", {1, 2}}});
  EXPECT_THAT(values, ElementsAre(std::pair<std::string, std::string>("a.b", "1"),
                                  std::pair<std::string, std::string>("a.c", "x"),
                                  std::pair<std::string, std::string>("d", "[1,2]")));
}

TEST(Provenance, CommandsAreDistinct) {
  Records records;
  records.file = "out/records.jsonl";
  records.headers = {sample::header(), sample::header()};
  EXPECT_THAT(
      reproduce_commands(records),
      ElementsAre("thinpipe run --trace 'synthetic trace' --ranks 4", "thinpipe report out"));
}

}  // namespace

}  // namespace thinpipe
