#include "reports/statistics/false_discovery.h"

#include <gtest/gtest.h>

#include <vector>

namespace thinpipe {
namespace {

// The example of Benjamini & Hochberg 1995, section 3.2: of 15 p-values the first four are believed
// at 0.05 (Bonferroni's rule would believe three).
TEST(BenjaminiHochberg, TheirExample) {
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const std::vector<bool> believed = benjamini_hochberg(p, 0.05);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_EQ(believed[i], i < 4) << i;
}

TEST(BenjaminiHochberg, InAnyOrderAndAboveTheLineWithinTheStep) {
  // 0.04 is above its own line (2/4 * 0.05) but p(4) = 0.05 is on its line, so all are believed.
  EXPECT_EQ(benjamini_hochberg(std::vector<double>{0.05, 0.04, 0.045, 0.001}, 0.05),
            (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(benjamini_hochberg(std::vector<double>{0.2, 0.01}, 0.05),
            (std::vector<bool>{false, true}));
  EXPECT_TRUE(benjamini_hochberg({}, 0.05).empty());
}

}  // namespace
}  // namespace thinpipe
