#include "workloads/exchange/outer_optimiser.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"

namespace thinpipe {
namespace {

TEST(OuterOptimiser, IsNesterovsMomentum) {
  // m = 0.5, rate 2, x = 1, 1, 0: v = 1, 1.5, 0.75; updates 2 (x + v / 2) = 3, 3.5, 0.75.
  OuterOptimiser optimiser(1, {.momentum = 0.5F, .learning_rate = 2});
  for (const auto& [gradient, update, velocity] : std::vector<std::tuple<float, float, float>>{
           {1, 3, 1}, {1, 3.5F, 1.5F}, {0, 0.75F, 0.75F}}) {
    std::vector<float> aggregate = {gradient};
    optimiser.apply(aggregate);
    EXPECT_EQ(aggregate[0], update);
    EXPECT_EQ(optimiser.velocity()[0], velocity);
  }
}

TEST(OuterOptimiser, HasDiLoCosFiguresOfItself) {
  // The sum over past gradients in closed form, in double precision: v_t = sum_s m^(t-s) x_s.
  constexpr std::size_t kElements = 1003, kSteps = 20;
  std::mt19937 generator(3);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> gradients(kSteps, std::vector<float>(kElements));
  for (auto& gradient : gradients)
    for (float& value : gradient) value = normal(generator);
  OuterOptimiser optimiser(kElements, {});
  for (int round = 0; round < 2; ++round) {
    for (std::size_t step = 0; step < kSteps; ++step) {
      std::vector<float> aggregate = gradients[step];
      optimiser.apply(aggregate);
      for (std::size_t i = 0; i < kElements; ++i) {
        double velocity = 0;
        for (std::size_t past = 0; past <= step; ++past)
          velocity = 0.9 * velocity + static_cast<double>(gradients[past][i]);
        const double update = 0.7 * (static_cast<double>(gradients[step][i]) + 0.9 * velocity);
        // Some roundings of magnitudes up to 40: a velocity is at most ten times the greatest x.
        ASSERT_NEAR(aggregate[i], update, 1e-5) << step << " " << i;
      }
    }
    optimiser.reset();
  }
}

TEST(OuterOptimiser, RefusesAnotherSize) {
  OuterOptimiser optimiser(3, {});
  std::vector<float> aggregate(4);
  EXPECT_THROW(optimiser.apply(aggregate), InputError);
}

}  // namespace
}  // namespace thinpipe
