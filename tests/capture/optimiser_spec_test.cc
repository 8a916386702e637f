#include "workloads/capture/optimiser_spec.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/support.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

std::string optimiser_error(const std::string& text) {
  return input_error([&] { OptimiserSpec::parse(text); });
}

TEST(OptimiserSpec, HoldsWhatIsWritten) {
  const OptimiserSpec sgd =
      OptimiserSpec::parse("sgd:lr=0.1,momentum=0.9,nesterov=1,weight_decay=5e-4");
  EXPECT_EQ(sgd.rule, OptimiserSpec::Rule::kSgd);
  EXPECT_EQ(sgd.learning_rate, 0.1);
  EXPECT_EQ(sgd.momentum, 0.9);
  EXPECT_TRUE(sgd.nesterov);
  EXPECT_EQ(sgd.weight_decay, 5e-4);
  const OptimiserSpec adam = OptimiserSpec::parse("adam");
  EXPECT_EQ(adam.learning_rate, 1e-3);
  EXPECT_EQ(adam.beta2, 0.999);
  EXPECT_EQ(OptimiserSpec::parse("adamw:lr=1,beta1=0.8").rule, OptimiserSpec::Rule::kAdamW);
  const OptimiserSpec signum = OptimiserSpec::parse("signum:lr=0.01,weight_decay=0.1");
  EXPECT_EQ(signum.rule, OptimiserSpec::Rule::kSignum);
  EXPECT_EQ(signum.momentum, 0);
  EXPECT_EQ(signum.weight_decay, 0.1);
}

TEST(OptimiserSpec, PrintsWhatParsesToTheSame) {
  for (const char* text :
       {"sgd:lr=0.1", "sgd:lr=1e-05,momentum=0.5,nesterov=1", "adam:epsilon=1e-10,lr=0.02",
        "adamw:weight_decay=0.1,beta2=0.95", "signum:lr=0.01,momentum=0.9"}) {
    const std::string printed = OptimiserSpec::parse(text).to_string();
    EXPECT_EQ(OptimiserSpec::parse(printed).to_string(), printed) << text;
  }
}

TEST(OptimiserSpec, WrongOnesAreNamed) {
  EXPECT_THAT(optimiser_error("sdg:lr=1"), HasSubstr("did you mean 'sgd'"));
  EXPECT_THAT(optimiser_error("sgd"), HasSubstr("lr= is missing"));
  EXPECT_THAT(optimiser_error("signum"), HasSubstr("lr= is missing"));
  EXPECT_THAT(optimiser_error("signum:lr=1,nesterov=1"), HasSubstr("unknown key 'nesterov'"));
  EXPECT_THAT(optimiser_error("sgd:lr=0"), HasSubstr("lr=0: expected a number"));
  EXPECT_THAT(optimiser_error("sgd:lr=nan"), HasSubstr("lr=nan: expected a number"));
  EXPECT_THAT(optimiser_error("sgd:lr=0.1x"), HasSubstr("lr=0.1x: expected a number"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,momentum=1"),
              HasSubstr("momentum=1: expected a number from 0 to 0.9999999"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,nesterov=1"), HasSubstr("without momentum"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,nesterov=yes"),
              HasSubstr("nesterov=yes: expected one of 0, 1"));
  EXPECT_THAT(optimiser_error("sgd:lr=1,beta1=0.9"),
              HasSubstr("unknown key 'beta1' (known: weight_decay, lr, momentum, nesterov)"));
  EXPECT_THAT(optimiser_error("adam:momentun=0.9"), HasSubstr("unknown key 'momentun'"));
  EXPECT_THAT(optimiser_error("adam:lr"),
              HasSubstr("optimiser 'adam:lr': expected key=value, found 'lr'"));
}

double factor(const std::string& text, std::uint64_t step, std::uint64_t steps = 100) {
  return RateSchedule::parse(text, steps).factor(step);
}

std::string schedule_error(const std::string& text) {
  return input_error([&] { RateSchedule::parse(text, 100); });
}

TEST(RateSchedule, Constant) {
  EXPECT_EQ(factor("constant", 0), 1);
  EXPECT_EQ(factor("constant", 1'000'000), 1);
}

// As the ResNets': at half and at three quarters, in steps or as fractions.
TEST(RateSchedule, Steps) {
  for (const char* text : {"step:at=0.5/0.75", "step:at=50/75,factor=0.1"}) {
    EXPECT_EQ(factor(text, 49), 1) << text;
    EXPECT_EQ(factor(text, 50), 0.1) << text;
    EXPECT_EQ(factor(text, 74), 0.1) << text;
    EXPECT_DOUBLE_EQ(factor(text, 75), 0.01) << text;
    EXPECT_DOUBLE_EQ(factor(text, 500), 0.01) << text;
  }
}

TEST(RateSchedule, Decay) {
  EXPECT_EQ(factor("decay:every=10,factor=0.8,from=60", 59), 1);
  EXPECT_EQ(factor("decay:every=10,factor=0.8,from=60", 69), 1);
  EXPECT_DOUBLE_EQ(factor("decay:every=10,factor=0.8,from=60", 70), 0.8);
  EXPECT_DOUBLE_EQ(factor("decay:every=10,factor=0.8,from=60", 99), 0.8 * 0.8 * 0.8);
  // Tsuzuku et al.: halved every 25 of 300 epochs; after half of them, six times.
  EXPECT_DOUBLE_EQ(factor("decay:every=0.08333333333", 1800, 3600), 1.0 / 64);
  EXPECT_DOUBLE_EQ(factor("decay:every=0.0001,factor=0.5", 3), 0.125);  // no shorter than a step
}

TEST(RateSchedule, Cosine) {
  EXPECT_DOUBLE_EQ(factor("cosine", 0), 1);
  EXPECT_NEAR(factor("cosine", 50), 0.5, 1e-12);
  EXPECT_NEAR(factor("cosine:end=0.01", 50), 0.505, 1e-12);
  // (1 + cos(0.99 pi)) / 2 is about (0.01 pi / 2)^2.
  EXPECT_NEAR(factor("cosine", 99), 2.467e-4, 1e-6);
  EXPECT_EQ(factor("cosine", 500), factor("cosine", 99));
}

TEST(RateSchedule, PlateauIsNoFunctionOfTheStep) {
  const RateSchedule schedule = RateSchedule::parse("plateau:warmup=4", 100);
  ASSERT_TRUE(schedule.plateau());
  EXPECT_EQ(schedule.plateau()->after, 2U);
  EXPECT_DOUBLE_EQ(schedule.factor(1), 0.4);
  EXPECT_EQ(schedule.factor(99), 1);
  EXPECT_FALSE(RateSchedule::parse("constant", 100).plateau());
  EXPECT_THAT(schedule_error("plateau:after=1.5"), HasSubstr("after=1.5"));
  EXPECT_THAT(schedule_error("plateau:factor=2"), HasSubstr("factor"));
  EXPECT_THAT(schedule_error("plateau:timeout=2"), HasSubstr("timeout"));
}

TEST(Plateau, FallsAfterSoManyEvaluationsWithoutANewBest) {
  const Plateau plateau = {.after = 2, .factor = 0.5, .least = 0.2};
  const std::vector<double> losses = {3, 2, 2.5, 1.9, 1.9, 2, 2, 2, 1, 5, 5, 5, 5};
  //                        a new best:  *  *       *               *
  const std::vector<double> expected = {1, 1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2};
  for (std::size_t i = 0; i < losses.size(); ++i)
    EXPECT_EQ(plateau.factor_after(std::span(losses).first(i + 1)), expected[i]) << i;
  EXPECT_EQ(plateau.factor_after({}), 1);
}

TEST(RateSchedule, WarmUpGrowsInAStraightLine) {
  const std::string text = "constant:warmup=4";
  for (std::uint64_t step = 0; step < 4; ++step) {
    EXPECT_DOUBLE_EQ(factor(text, step), static_cast<double>(step + 1) / 5);
  }
  EXPECT_EQ(factor(text, 4), 1);
  EXPECT_DOUBLE_EQ(factor("constant:warmup=0.04,start=0.5", 0), 0.5 + 0.5 / 5);
  // The warm-up ends on the schedule's own value.
  EXPECT_DOUBLE_EQ(factor("cosine:warmup=50", 49), 50.0 / 51 * 0.5);
  EXPECT_NEAR(factor("cosine:warmup=50", 50), 0.5, 1e-12);
}

TEST(RateSchedule, WrongOnesAreNamed) {
  EXPECT_THAT(schedule_error("cosinus"), HasSubstr("did you mean 'cosine'"));
  EXPECT_THAT(schedule_error("step"), HasSubstr("at= is missing"));
  EXPECT_THAT(schedule_error("step:at=0.5/x"), HasSubstr("at=0.5/x: expected numbers"));
  EXPECT_THAT(schedule_error("step:at=0.5/"), HasSubstr("at=0.5/: expected numbers"));
  EXPECT_THAT(schedule_error("decay"), HasSubstr("every= is missing"));
  EXPECT_THAT(schedule_error("decay:every=0"), HasSubstr("every=0: expected a number"));
  EXPECT_THAT(schedule_error("cosine:factor=0.1"), HasSubstr("unknown key 'factor'"));
  EXPECT_THAT(schedule_error("constant:start=2"),
              HasSubstr("start=2: expected a number from 0 to 1"));
}

}  // namespace

}  // namespace thinpipe
