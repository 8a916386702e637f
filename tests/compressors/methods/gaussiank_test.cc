#include <gtest/gtest.h>

#include "compressors/kernels/sums.h"
#include "compressors/methods/selectors.h"
#include "compressors/select/distributions.h"
#include "tests/compressors/support/selection.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::make_selection;
using testing::positions_above;
using testing::positions_of;

/// The last threshold that was counted.
double plain_gaussiank(const std::vector<float>& c, double ratio, bool oktopk) {
  const Dispersion spread = signed_dispersion(c);
  const auto k = static_cast<double>(target_count(ratio, c.size()));
  double t = spread.mean() + std::fabs(normal_quantile(ratio / 2)) * std::sqrt(spread.variance());
  double last = t;
  for (int round = 0; round < (oktopk ? 20 : 3); ++round) {
    last = t;
    const auto z = static_cast<double>(positions_above(c, t).size());
    if (z < (oktopk ? k * 3 / 4 : k * 2 / 3)) {
      t = oktopk ? t / 1.02 : t * 0.5;
    } else if (z > (oktopk ? k * 5 / 4 : k * 4 / 3)) {
      t = oktopk ? t * 1.02 : t * 1.5;
    } else {
      break;
    }
  }
  return last;
}

TEST(GaussianK, SameAsItsDescription) {
  testing::for_each_target([] {
    for (const auto& [name, c] : testing::selection_inputs()) {
      if (c.empty()) continue;
      SCOPED_TRACE(name);
      for (bool oktopk : {false, true}) {
        for (double ratio : {0.0001, 0.01, 0.1, 0.5, 1.0}) {
          const auto selector =
              make_gaussiank_selector(c.size(), {.ratio = {.ratio = ratio}, .oktopk = oktopk});
          Selection selection = make_selection(c.size());
          selector->select(c, {}, selection);
          const double threshold = plain_gaussiank(c, ratio, oktopk);
          ASSERT_EQ(selection.threshold, threshold) << oktopk << " " << ratio;
          ASSERT_EQ(positions_of(selection), positions_above(c, threshold));
        }
      }
    }
  });
}

TEST(GaussianK, FindsTheTargetOfANormalDistribution) {
  // Its own quantiles: no correction is needed.
  std::vector<float> c(20001);
  for (std::size_t i = 0; i < c.size(); ++i) {
    c[i] = static_cast<float>(normal_quantile((static_cast<double>(i) + 0.5) / 20001));
  }
  for (double ratio : {0.1, 0.01}) {
    const auto selector = make_gaussiank_selector(c.size(), {.ratio = {.ratio = ratio}});
    Selection selection = make_selection(c.size());
    selector->select(c, {}, selection);
    const double k = ratio * static_cast<double>(c.size());
    EXPECT_NEAR(static_cast<double>(selection.count), k, 0.02 * k);
  }
}

}  // namespace
}  // namespace thinpipe
