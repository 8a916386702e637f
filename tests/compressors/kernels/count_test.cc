#include "compressors/kernels/count.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

TEST(Count, SameAsAPlainLoop) {
  auto inputs = testing::finite_inputs();
  for (auto& input : testing::non_finite_inputs()) inputs.push_back(std::move(input));
  testing::for_each_target([&] {
    for (const auto& [name, x] : inputs) {
      SCOPED_TRACE(name);
      for (std::size_t number : {0UL, 1UL, 5UL, kMaxLimits}) {
        std::vector<std::int32_t> limits = {0, 1, kMaxKey};
        for (std::size_t i = 0; i < std::min<std::size_t>(x.size(), 5); ++i) {
          limits.push_back(key_of(x[i * 31 % x.size()], KeyOrder::kMagnitude));
        }
        std::reverse(limits.begin(), limits.end());
        limits.resize(number, 0x3f000000);
        std::vector<std::size_t> counts(number, 99);
        std::vector<std::size_t> expected(number, 0);
        count_magnitudes(x, limits, counts);
        for (std::size_t j = 0; j < number; ++j) {
          for (float value : x) {
            expected[j] += key_of(value, KeyOrder::kMagnitude) >= limits[j] ? 1 : 0;
          }
        }
        ASSERT_EQ(counts, expected);
      }
    }
  });
}

}  // namespace
}  // namespace thinpipe
