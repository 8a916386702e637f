#include "compressors/wire/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace thinpipe {
namespace {

TEST(Utf8, TakesWhatTheStandardTakes) {
  for (const char* text :
       {"", "conv1.weight", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xcc\x82z"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  EXPECT_TRUE(is_utf8(std::string("\0", 1)));
}

TEST(Utf8, RefusesEverythingElse) {
  for (const char* text : {"\x80", "\xbf", "\xc2", "\xc2z", "\xe0\xa0", "\xf0\x90\x80",  // cut off
                           "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",   // overlong
                           "\xed\xa0\x80", "\xed\xbf\xbf",  // surrogates
                           "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "\xfe"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

}  // namespace
}  // namespace thinpipe
