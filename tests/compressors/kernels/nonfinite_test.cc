#include "compressors/kernels/nonfinite.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::for_each_target;

TEST(NonFinite, NoneInFiniteInputs) {
  for_each_target([] {
    for (const auto& [name, x] : testing::finite_inputs()) {
      EXPECT_EQ(first_non_finite(x), kAllFinite) << name;
    }
    const std::vector<float> greatest(100, -std::numeric_limits<float>::max());
    EXPECT_EQ(first_non_finite(greatest), kAllFinite);
  });
}

TEST(NonFinite, FindsTheFirst) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for_each_target([] {
    for (std::size_t n : {1UL, 15UL, 64UL, 300UL}) {
      for (std::size_t at = 0; at < n; ++at) {
        for (float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
          auto x = testing::bell(n, 2);
          x[at] = bad;
          x[n - 1] = kNan;
          ASSERT_EQ(first_non_finite(x), at);
        }
      }
    }
  });
}

}  // namespace
}  // namespace thinpipe
