#include "harness/bench/options.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace thinpipe {
namespace {

TEST(BenchOptions, ElementsAreDecimal) {
  EXPECT_EQ(parse_elements("1"), 1u);
  EXPECT_EQ(parse_elements("65537"), 65537u);
  EXPECT_EQ(parse_elements("260k"), 260000u);
  EXPECT_EQ(parse_elements("2.6m"), 2600000u);
  EXPECT_EQ(parse_elements("1g"), 1000000000u);
}

TEST(BenchOptions, DevicesAreTheCpuAndCuda) {
  check_device("cpu");
  check_device("cuda");
  EXPECT_THROW(check_device("tpu"), InputError);
  EXPECT_THROW(check_device(""), InputError);
}

TEST(BenchOptions, ElementsThatAreNone) {
  for (const char* text : {"", "0", "k", "-1", "1.5", "26q", "26mm", "2g", "nan", "inf", "1e300"}) {
    EXPECT_THROW(parse_elements(text), InputError) << text;
  }
}

}  // namespace
}  // namespace thinpipe
