#include <gtest/gtest.h>

#include "compressors/kernels/sums.h"
#include "compressors/methods/selectors.h"
#include "tests/compressors/support/selection.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::make_selection;
using testing::positions_above;
using testing::positions_of;

/// The last threshold probed.
double plain_redsync(const std::vector<float>& c, std::size_t k, bool trim) {
  const Moments moments = magnitude_moments(c);
  const double m = moments.sum_magnitude / static_cast<double>(c.size());
  const auto greatest = static_cast<double>(moments.max_magnitude);
  double t = 0;
  if (trim) {
    for (int i = 0; i < 32; ++i) {
      t = m + (8.0 - 2.0 * i) / 10.0 * (greatest - m);
      if (positions_above(c, t).size() >= k) break;
    }
    return t;
  }
  double lo = 0;
  double hi = 1;
  while (hi - lo > 0.2) {
    const double q = (lo + hi) / 2;
    t = m + q * (greatest - m);
    const std::size_t z = positions_above(c, t).size();
    if (k < z && z < 2 * k) break;
    if (static_cast<double>(z) < static_cast<double>(k) / 2) {
      hi = q;
    } else {
      lo = q;
    }
  }
  return t;
}

TEST(RedSync, SameAsItsDescription) {
  testing::for_each_target([] {
    for (const auto& [name, c] : testing::selection_inputs()) {
      if (c.empty()) continue;
      SCOPED_TRACE(name);
      for (bool trim : {false, true}) {
        for (double ratio : {0.0001, 0.01, 0.1, 0.5, 1.0}) {
          const auto selector =
              make_redsync_selector(c.size(), {.ratio = {.ratio = ratio}, .trim = trim});
          Selection selection = make_selection(c.size());
          selector->select(c, {}, selection);
          const double threshold = plain_redsync(c, target_count(ratio, c.size()), trim);
          if (std::isnan(threshold)) continue;  // the sum of huge ones overflows
          ASSERT_EQ(selection.threshold, threshold) << trim << " " << ratio;
          ASSERT_EQ(positions_of(selection), positions_above(c, threshold));
        }
      }
    }
  });
}

TEST(RedSync, TrimmingReachesTheTarget) {
  for (double ratio : {0.001, 0.01, 0.1, 0.6}) {
    const auto c = testing::heavy(65537, 3);
    const auto selector =
        make_redsync_selector(c.size(), {.ratio = {.ratio = ratio}, .trim = true});
    Selection selection = make_selection(c.size());
    selector->select(c, {}, selection);
    EXPECT_GE(selection.count, selection.target);
  }
}

TEST(RedSync, EmptyAndEqualTensorsSendNothing) {
  for (bool trim : {false, true}) {
    Selection selection = make_selection(100);
    make_redsync_selector(0, {.trim = trim})->select({}, {}, selection);
    EXPECT_EQ(selection.count, 0U);
    const std::vector<float> zeros(100, 0.0F);
    make_redsync_selector(100, {.trim = trim})->select(zeros, {}, selection);
    EXPECT_EQ(selection.count, 0U);
  }
}

}  // namespace
}  // namespace thinpipe
