#include "harness/worker/outer_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace thinpipe {
namespace {

// m = 1/2, rate = 2, aggregates 1, 3, -2: v is 1, 3.5, -0.25; updates 2 (x + v / 2) are 3, 9.5,
// -4.25. The reference comes in at the second.
TEST(OuterReference, FollowsWhatTheOptimiserDoes) {
  const OuterOptions options{.momentum = 0.5F, .learning_rate = 2};
  OuterOptimiser optimiser(1, options);
  OuterReference reference(options);
  std::vector<float> update(1);
  EXPECT_EQ(reference.error_of(update), 0);  // nothing is known yet
  const std::vector<float> aggregates = {1, 3, -2}, updates = {3, 9.5, -4.25};
  for (std::size_t step = 0; step < 3; ++step) {
    const auto x = std::span(aggregates).subspan(step, 1);
    optimiser.apply(x, update);
    EXPECT_EQ(update[0], updates[step]);
    if (step > 0) reference.follow(x, optimiser.velocity());
    EXPECT_EQ(reference.error_of(update), 0);
  }
  EXPECT_EQ(reference.error_of(std::vector<float>{-4.25F * 1.5F}), 0.5);
  EXPECT_TRUE(
      std::isnan(reference.error_of(std::vector<float>{std::numeric_limits<float>::quiet_NaN()})));
}

TEST(OuterReference, FindsAVelocityThatWasLost) {
  const OuterOptions options{.momentum = 0.5F, .learning_rate = 2};
  OuterOptimiser optimiser(1, options);
  OuterReference reference(options);
  const std::vector<float> x = {4};
  std::vector<float> update(1);
  optimiser.apply(x, update);
  reference.follow(x, optimiser.velocity());
  optimiser.reset();
  optimiser.apply(x, update);
  reference.follow(x, optimiser.velocity());
  EXPECT_GT(reference.error_of(update), 0.1);
}

}  // namespace
}  // namespace thinpipe
