#include "base/visible.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Visible, WritesWhatATerminalObeysAsEscapes) {
  EXPECT_EQ(visible_text("\x1b[2Jmodel\x1b]0;title\x07"), "\\x1b[2Jmodel\\x1b]0;title\\x07");
  EXPECT_EQ(visible_text("a\rb\b\x7f"), "a\\x0db\\x08\\u007f");
  EXPECT_EQ(visible_text("\xc2\x9b" "31m"), "\\u009b31m");                // CSI of C1, as UTF-8
  EXPECT_EQ(visible_text("\x9b" "31m"), "\\x9b31m");                      // and as one byte
  EXPECT_EQ(visible_text("\xe2\x80\xae" "evil"), "\\u202eevil");          // right-to-left override
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
  EXPECT_EQ(visible_text("\xe2\x80"), "\xe2\\x80");      // the beginning of an override
  EXPECT_EQ(visible_text("\xe2\x1b["), "\xe2\\x1b[");    // an escape behind half a character
  EXPECT_EQ(visible_text("\xf0\x9f\x1b"), "\xf0\\x9f\\x1b");
  EXPECT_EQ(visible_text("\xc0\x9b"), "\xc0\\x9b");      // overlong
}

}  // namespace
}  // namespace thinpipe
