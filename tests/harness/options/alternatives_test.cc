#include "harness/options/alternatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;

TEST(Alternatives, KeepTheirOrderAndComeOnce) {
  EXPECT_THAT(alternatives({"1|2", "4", "2"}), ElementsAre("1", "2", "4"));
  EXPECT_THAT(alternatives({}), ElementsAre());
}

TEST(Alternatives, CountsAreWholeNumbersWithinTheirRange) {
  EXPECT_THAT(count_alternatives({"4|1", "2", "02"}, "ranks", "ranks", 4), ElementsAre(4, 1, 2));
  for (const char* wrong : {"", "0", "5", "-1", "1.5", "two", "1|", "1 ", "99999999999999999999"}) {
    EXPECT_THROW(count_alternatives({wrong}, "ranks", "ranks", 4), InputError) << wrong;
  }
  try {
    count_alternatives({"2|x"}, "threads", "hands", 8);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "--threads: 'x' is not a number of hands from 1 to 8");
  }
}

}  // namespace
}  // namespace thinpipe
