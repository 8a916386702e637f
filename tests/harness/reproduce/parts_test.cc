#include "harness/reproduce/parts.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(SpeltOut, WritesEveryParameterAndLeavesWhatIsNoSpec) {
  EXPECT_EQ(spelt_out("topk:ratio=0.01"), spelt_out("topk"));
  EXPECT_NE(spelt_out("topk:ratio=0.1"), spelt_out("topk"));
  EXPECT_EQ(spelt_out("conv*:none;*:topk"), "conv*:none;*:topk");
}

}  // namespace
}  // namespace thinpipe
