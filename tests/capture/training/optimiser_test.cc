#include "workloads/training/optimiser.h"

#include <cmath>

#include <gtest/gtest.h>
#include <torch/types.h>

namespace thinpipe {
namespace {

// One parameter, its rule in doubles as OptimiserSpec writes it down.
struct Reference {
  OptimiserSpec spec;
  double w = 0;
  double v = 0;
  double u = 0;
  int t = 0;

  void step(double g, double factor) {
    ++t;
    const double rate = spec.learning_rate * factor;
    const double d = spec.rule == OptimiserSpec::Rule::kAdamW ? g : g + spec.weight_decay * w;
    if (spec.rule == OptimiserSpec::Rule::kSgd) {
      v = spec.momentum * v + d;
      w -= rate * (spec.nesterov ? d + spec.momentum * v : v);
      return;
    }
    if (spec.rule == OptimiserSpec::Rule::kAdamW) w -= rate * spec.weight_decay * w;
    v = spec.beta1 * v + (1 - spec.beta1) * d;
    u = spec.beta2 * u + (1 - spec.beta2) * d * d;
    w -= rate * (v / (1 - std::pow(spec.beta1, t))) /
         (std::sqrt(u / (1 - std::pow(spec.beta2, t))) + spec.epsilon);
  }
};

class EveryRule : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryRule, FollowsItsFormula) {
  Reference reference{OptimiserSpec::parse(GetParam()), 0.75};
  const torch::Tensor parameter = torch::full({1}, 0.75F);
  ParameterOptimiser optimiser(reference.spec, {parameter});
  for (const double gradient : {0.5, -0.25, 2.0, 0.0, 0.125, -1.0}) {
    const double factor = gradient > 1 ? 0.5 : 1;
    optimiser.step({torch::full({1}, static_cast<float>(gradient))}, factor);
    reference.step(gradient, factor);
    // A few roundings of values near one in each of six steps.
    EXPECT_NEAR(parameter.item<double>(), reference.w, 1e-5);
  }
  EXPECT_EQ(optimiser.updates(), 6);
  EXPECT_NE(reference.w, 0.75);
}

INSTANTIATE_TEST_SUITE_P(All, EveryRule,
                         ::testing::Values("sgd:lr=0.1", "sgd:lr=0.1,weight_decay=0.01",
                                           "sgd:lr=0.1,momentum=0.9,weight_decay=0.01",
                                           "sgd:lr=0.1,momentum=0.9,nesterov=1", "adam:lr=0.1",
                                           "adam:lr=0.1,beta1=0.5,beta2=0.9,weight_decay=0.1",
                                           "adamw:lr=0.1,weight_decay=0.1"));

TEST(ClipNorm, ScalesOnlyWhatIsLongerAndFinite) {
  std::vector<torch::Tensor> gradients = {torch::tensor({3.0F, 0.0F}), torch::tensor({4.0F})};
  clip_norm(gradients, 10);
  EXPECT_EQ(gradients[1].item<float>(), 4);
  clip_norm(gradients, 2.5);  // the norm is 5
  EXPECT_EQ(gradients[0][0].item<float>(), 1.5F);
  EXPECT_EQ(gradients[1].item<float>(), 2);
  gradients[0][1] = std::nanf("");
  clip_norm(gradients, 1);
  EXPECT_EQ(gradients[1].item<float>(), 2);
}

}  // namespace
}  // namespace thinpipe
