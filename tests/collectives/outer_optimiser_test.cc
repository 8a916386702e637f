#include "workloads/collectives/outer_optimiser.h"

#include <gtest/gtest.h>

#include <random>
#include <tuple>

#include "base/error.h"

namespace thinpipe {
namespace {

TEST(OuterOptimiser, IsNesterovsMomentum) {
  // Momentum m = 0.5, learning rate 2, aggregates x = 1, 1, 0: velocities v = 1, 1.5, 0.75; updates
  // 2 (x + v / 2) = 3, 3.5, 0.75.
  OuterOptimiser optimiser(1, {.momentum = 0.5F, .learning_rate = 2});
  for (const auto& [gradient, update, velocity] : std::vector<std::tuple<float, float, float>>{
           {1, 3, 1}, {1, 3.5F, 1.5F}, {0, 0.75F, 0.75F}}) {
    const std::vector<float> aggregate = {gradient};
    std::vector<float> made(1);
    optimiser.apply(aggregate, made);
    EXPECT_EQ(made[0], update);
    EXPECT_EQ(aggregate[0], gradient);
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
      std::vector<float> made(kElements);
      optimiser.apply(gradients[step], made);
      for (std::size_t i = 0; i < kElements; ++i) {
        double velocity = 0;
        for (std::size_t past = 0; past <= step; ++past)
          velocity = 0.9 * velocity + static_cast<double>(gradients[past][i]);
        const double update = 0.7 * (static_cast<double>(gradients[step][i]) + 0.9 * velocity);
        // Some roundings of magnitudes up to 40: a velocity is at most ten times the greatest x.
        ASSERT_NEAR(made[i], update, 1e-5) << step << " " << i;
      }
    }
    optimiser.reset();
  }
}

// The velocity 1 of both elements becomes 1.5 at the second one, whose update is 2 (1 + 1.5 / 2).
TEST(OuterOptimiser, LeavesElementsAsTheyAreThatHaveNoTurn) {
  OuterOptimiser optimiser(3, {.momentum = 0.5F, .learning_rate = 2});
  std::vector<float> made(3);
  optimiser.apply(std::vector<float>{1, 1, 1}, made);
  optimiser.apply(std::vector<float>{0, 1, 0}, made, {1, 2});
  EXPECT_EQ(made, (std::vector<float>{0, 3.5F, 0}));
  const auto velocity = optimiser.velocity();
  EXPECT_EQ(std::vector<float>(velocity.begin(), velocity.end()), (std::vector<float>{1, 1.5F, 1}));
}

TEST(OuterOptimiser, RefusesAnotherSize) {
  OuterOptimiser optimiser(3, {});
  std::vector<float> three(3), four(4);
  EXPECT_THROW(optimiser.apply(four, four), InputError);
  EXPECT_THROW(optimiser.apply(three, four), InputError);
}

TEST(OuterOptions, AreReadAndPrinted) {
  EXPECT_EQ(OuterOptions::parse("diloco").to_string(), "diloco");
  EXPECT_EQ(OuterOptions::parse("momentum=0.5").to_string(), "momentum=0.5,rate=0.7");
  EXPECT_EQ(OuterOptions::parse("rate=1,momentum=0").to_string(), "momentum=0,rate=1");
  for (const char* text :
       {"", "nesterov", "momentum", "momentum=2", "rate=-1", "rate=x", "rate=1,"})
    EXPECT_THROW(OuterOptions::parse(text), InputError) << text;
}

}  // namespace
}  // namespace thinpipe
