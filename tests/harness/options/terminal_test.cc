#include "harness/options/terminal.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Layout, WrapsAtBlanksWithinTheColumns) {
  // "  aa bb" is 7 columns; " cc" would make 10.
  EXPECT_EQ(wrap("aa bb cc", 2, 9), "  aa bb\n  cc");
  EXPECT_EQ(wrap("aa bb cc", 2, 10), "  aa bb cc");
  EXPECT_EQ(wrap("aa bb cc", 2, 9, false), "aa bb\n  cc");
}

TEST(Layout, LongWordsStandAlone) { EXPECT_EQ(wrap("a bbbbbb c", 0, 4), "a\nbbbbbb\nc"); }

TEST(Layout, BlankLinesSeparateParagraphs) { EXPECT_EQ(wrap("a\nb\n\nc", 0, 9), "a b\n\nc"); }

TEST(Layout, TwoColumns) {
  EXPECT_EQ(two_columns("ab", "cd ef", 8, 10), "  ab    cd\n        ef\n");
  EXPECT_EQ(two_columns("abcdef", "cd", 8, 10), "  abcdef\n        cd\n");
  EXPECT_EQ(two_columns("ab", "", 8, 10), "  ab\n");
}

}  // namespace
}  // namespace thinpipe
