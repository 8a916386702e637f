#include "harness/commands/step_options.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "harness/plan/plan.h"

namespace thinpipe {
namespace {

TEST(TimeScaleOption, TakesFactorsAndAuto) {
  EXPECT_EQ(parse_time_scales("1"), std::vector<double>{1});
  EXPECT_EQ(parse_time_scales("1|2|0.25|2.0"), (std::vector<double>{1, 2, 0.25}));
  EXPECT_EQ(parse_time_scales("auto"), std::vector<double>{kAutoTimeScale});
}

TEST(TimeScaleOption, NamesWhatIsNoFactor) {
  for (const char* text :
       {"", "0", "-1", "1e4", "0.0001", "fast", "2x", "nan", "inf", "1|", "1,2"}) {
    SCOPED_TRACE(text);
    EXPECT_THROW(parse_time_scales(text), InputError);
  }
  EXPECT_THROW(parse_time_scale("auto"), InputError);
}

}  // namespace
}  // namespace thinpipe
