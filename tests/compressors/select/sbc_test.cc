#include "compressors/select/sbc.h"

#include <gtest/gtest.h>

#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/selection.h"

namespace thinpipe {
namespace {

using testing::make_selection;
using testing::plain_top_k;
using testing::positions_of;

TEST(Sbc, TakesTheSideWithTheGreaterMean) {
  for (const auto& [name, c] : testing::finite_inputs()) {
    SCOPED_TRACE(name);
    for (double p : {0.001, 0.01, 0.3}) {
      const std::size_t k = target_count(p, c.size());
      const auto largest = plain_top_k(c, KeyOrder::kLargest, k);
      const auto smallest = plain_top_k(c, KeyOrder::kSmallest, k);
      double plus = 0;
      double minus = 0;
      for (std::uint32_t i : largest) plus += static_cast<double>(c[i]);
      for (std::uint32_t i : smallest) minus -= static_cast<double>(c[i]);
      const auto selector = make_sbc_selector(c.size(), {.ratio = p});
      Selection selection = make_selection(c.size());
      selector->select(c, {}, selection);
      EXPECT_EQ(positions_of(selection), plus >= minus ? largest : smallest);
      EXPECT_EQ(selection.count, k);
      EXPECT_EQ(selector->max_selected(), k);
    }
  }
}

TEST(Sbc, SmallExample) {
  // k = 2 of 8. Largest: 3 and 2, mean 2.5; smallest: -4 and -1.5, mean -2.75.
  const std::vector<float> c = {0, 3, -1.5, 1, 2, -4, 0.5, -1};
  const auto selector = make_sbc_selector(c.size(), {.ratio = 0.25});
  Selection selection = make_selection(c.size());
  selector->select(c, {}, selection);
  EXPECT_EQ(positions_of(selection), (std::vector<std::uint32_t>{2, 5}));
  EXPECT_EQ(selection.threshold, 1.5);
}

}  // namespace
}  // namespace thinpipe
