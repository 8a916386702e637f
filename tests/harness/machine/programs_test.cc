#include "harness/machine/programs.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace thinpipe {
namespace {

TEST(Programs, FoundBesideThisOne) {
  EXPECT_EQ(find_program("harness_tests").filename(), "harness_tests");
}

TEST(Programs, AbsenceSaysWhereAndWhatItMeans) {
  try {
    find_program("thinpipe-nowhere");
    FAIL();
  } catch (const RunError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("thinpipe-nowhere in /"), std::string::npos) << text;
    EXPECT_NE(text.find("libexec/thinpipe"), std::string::npos) << text;
    EXPECT_NE(text.find("incomplete"), std::string::npos) << text;
  }
}

TEST(Programs, PathIsSearched) {
  const auto shell = find_in_path("sh");
  ASSERT_TRUE(shell.has_value());
  EXPECT_EQ(shell->filename(), "sh");
  EXPECT_FALSE(find_in_path("no-such-program-anywhere").has_value());
}

}  // namespace
}  // namespace thinpipe
