#include "workloads/training/learner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/support.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using Spans = std::vector<std::span<const float>>;

LearnerOptions small(const std::string& model) {
  LearnerOptions options;
  options.model = model;
  options.batch = 4;
  return options;
}

// One array of equal values for each parameter.
std::vector<std::vector<float>> filled(const Learner& learner, float value = 0) {
  std::vector<std::vector<float>> arrays;
  for (const LearnerParameter& one : learner.parameters()) arrays.emplace_back(one.elements, value);
  return arrays;
}

Spans gradients_of(const Learner& learner) {
  Spans spans;
  for (std::size_t i = 0; i < learner.parameters().size(); ++i)
    spans.push_back(learner.gradient(i));
  return spans;
}

/// So many workers in turn, the mean of their gradients applied to each.
class Group {
 public:
  Group(LearnerOptions options, std::size_t workers) {
    options.workers = workers;
    for (std::size_t i = 0; i < workers; ++i)
      learners_.push_back(std::make_unique<Learner>(options, i));
  }
  Learner& operator[](std::size_t worker) { return *learners_[worker]; }

  /// @return the mean of the workers' losses
  double step(std::uint64_t number) {
    double loss = 0;
    std::vector<std::vector<float>> means;
    for (auto& learner : learners_) {
      loss += learner->compute(number) / static_cast<double>(learners_.size());
      means.resize(learner->parameters().size());
      for (std::size_t i = 0; i < means.size(); ++i) {
        const auto gradient = learner->gradient(i);
        means[i].resize(gradient.size());
        for (std::size_t j = 0; j < gradient.size(); ++j)
          means[i][j] += gradient[j] / static_cast<float>(learners_.size());
      }
    }
    const Spans spans(means.begin(), means.end());
    for (auto& learner : learners_) learner->apply(spans, number);
    return loss;
  }

 private:
  std::vector<std::unique_ptr<Learner>> learners_;
};

TEST(Learner, ChanceIsThatOfTheFrequencies) {
  // Every block of ten drawn digits has each class once; a fifth of the digits is held out at
  // random.
  const Evaluation images = Learner(small("lenet5"), 0).chance();
  EXPECT_NEAR(images.accuracy, 0.1, 0.04);
  EXPECT_NEAR(images.perplexity, 10, 0.1);
  const Learner reader(small("charlstm"), 0);
  const Evaluation text = reader.chance();
  EXPECT_GT(text.accuracy, 0.1);  // spaces
  EXPECT_LT(text.accuracy, 0.3);
  EXPECT_GT(text.perplexity, 15);
  EXPECT_LT(text.perplexity, 25);
  EXPECT_DOUBLE_EQ(text.perplexity, std::exp(text.loss));
}

TEST(Learner, ClipsItsOwnGradientAsAWhole) {
  LearnerOptions options = small("lenet5");
  options.workers = 4;
  Learner free(options, 1);
  options.local_clip = 0.02;
  Learner clipped(options, 1);
  free.compute(0);
  clipped.compute(0);
  const auto norm_of = [](const Learner& learner) {
    double squares = 0;
    for (const auto& gradient : gradients_of(learner))
      for (const float value : gradient) squares += std::pow(static_cast<double>(value), 2);
    return std::sqrt(squares);
  };
  const double whole = norm_of(free);
  EXPECT_GT(whole, 0.01);
  EXPECT_NEAR(norm_of(clipped), 0.01, 1e-6);  // 0.02 over the root of 4 workers
  // All tensors are scaled alike.
  for (std::size_t i = 0; i < free.parameters().size(); ++i)
    for (std::size_t j = 0; j < free.gradient(i).size(); ++j)
      ASSERT_NEAR(clipped.gradient(i)[j], free.gradient(i)[j] * 0.01 / whole, 1e-7);
}

TEST(Learner, MasksMomentumWhereSomethingWasSent) {
  for (const char* optimiser : {"sgd:lr=0.1,momentum=0.9", "adam:lr=0.001"}) {
    LearnerOptions options = small("lenet5");
    options.optimiser = optimiser;
    Learner masked(options, 0), free(options, 0);
    for (Learner* one : {&masked, &free}) {
      one->compute(0);
      one->apply(gradients_of(*one), 0);
    }
    std::vector<float> sent(masked.parameters()[0].elements);
    sent[1] = -0.5F;
    masked.mask_momentum(0, sent);
    // Without a gradient, only the momentum moves the parameters.
    const auto zeros = filled(masked);
    const std::vector<float> before(masked.values(0).begin(), masked.values(0).end());
    for (Learner* one : {&masked, &free}) one->apply(Spans(zeros.begin(), zeros.end()), 1);
    EXPECT_EQ(masked.values(0)[1], before[1]) << optimiser;
    EXPECT_NE(free.values(0)[1], before[1]) << optimiser;
    for (std::size_t i = 2; i < sent.size(); ++i)
      ASSERT_EQ(masked.values(0)[i], free.values(0)[i]) << optimiser;
  }
}

TEST(Learner, WorkersStartAlikeSeeDifferentDataAndStayAlike) {
  Group group(small("lenet5"), 2);
  EXPECT_EQ(group[0].digest(), group[1].digest());
  const std::uint64_t start = group[0].digest();
  for (std::uint64_t step = 0; step < 3; ++step) {
    group.step(step);
    EXPECT_EQ(group[0].digest(), group[1].digest());
    EXPECT_FALSE(std::ranges::equal(group[0].gradient(0), group[1].gradient(0)));
  }
  EXPECT_NE(group[0].digest(), start);
}

TEST(Learner, DigestShowsOneBit) {
  Learner learner(small("lenet5"), 0);
  const std::uint64_t before = learner.digest();
  std::vector<std::vector<float>> values;
  for (std::size_t i = 0; i < learner.parameters().size(); ++i) {
    const auto span = learner.values(i);
    values.emplace_back(span.begin(), span.end());
  }
  learner.assign(Spans(values.begin(), values.end()));
  EXPECT_EQ(learner.digest(), before);
  values[4][17] = std::nextafter(values[4][17], 1.0F);
  learner.assign(Spans(values.begin(), values.end()));
  EXPECT_NE(learner.digest(), before);
}

TEST(Learner, TimesAreOfEveryParameter) {
  Learner learner(small("lenet5"), 0);
  LearnerTimes times;
  const double loss = learner.compute(0, &times);
  EXPECT_EQ(times.loss, loss);
  ASSERT_EQ(times.ready.size(), learner.parameters().size());
  for (const double ready : times.ready) EXPECT_TRUE(ready > 0 && ready <= times.backward);
  EXPECT_EQ(learner.parameters()[0].name, "conv1.weight");
  EXPECT_THAT(learner.parameters()[0].shape, ::testing::ElementsAre(20, 1, 5, 5));
  EXPECT_EQ(learner.parameters()[0].elements, 500U);
}

class EveryLearner : public ::testing::TestWithParam<std::string> {};

// A training that stops after three of six steps and continues in another learner ends with the
// same bits as one without the stop. The optimiser has momentum, so that its buffer matters.
TEST_P(EveryLearner, GoesOnFromItsStateBitForBit) {
  LearnerOptions options = small(GetParam());
  options.optimiser = GetParam() == "lenet5" ? "adam:lr=0.001" : "sgd:lr=0.01,momentum=0.9";
  options.schedule = "cosine";
  options.steps = 6;
  options.augment = GetParam() != "charlstm";
  const auto steps = [](Learner& learner, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t step = first; step < end; ++step) {
      learner.compute(step);
      learner.apply(gradients_of(learner), step);
    }
  };
  Learner whole(options, 0);
  steps(whole, 0, 6);
  Learner first(options, 0);
  steps(first, 0, 3);
  const std::vector<std::byte> state = first.state();
  Learner second(options, 0);
  second.restore(state);
  EXPECT_EQ(second.digest(), first.digest());
  EXPECT_EQ(second.state(), state);
  steps(second, 3, 6);
  EXPECT_EQ(second.digest(), whole.digest());
  EXPECT_EQ(second.state(), whole.state());
}

INSTANTIATE_TEST_SUITE_P(All, EveryLearner, ::testing::Values("lenet5", "charlstm", "resnet20"),
                         [](const auto& instance) { return instance.param; });

TEST(Learner, DamagedAndForeignStatesAreRefusedAndChangeNothing) {
  Learner learner(small("lenet5"), 0);
  const std::uint64_t before = learner.digest();
  const std::vector<std::byte> good = learner.state();
  const auto error = [&](std::vector<std::byte> state) {
    return input_error([&] { learner.restore(state); });
  };
  EXPECT_EQ(error(good), "");
  std::vector<std::byte> bad = good;
  bad[bad.size() / 2] ^= std::byte{1};
  EXPECT_THAT(error(bad), HasSubstr("damaged"));
  EXPECT_THAT(error({good.begin(), good.end() - 1}), HasSubstr("damaged"));
  EXPECT_THAT(error({}), HasSubstr("0 bytes"));
  EXPECT_THAT(error(std::vector<std::byte>(100)), HasSubstr("not a learner's state"));
  LearnerOptions options = small("lenet5");
  options.seed = 2;
  EXPECT_THAT(error(Learner(options, 0).state()), HasSubstr("from other options"));
  EXPECT_EQ(learner.digest(), before);
}

TEST(Learner, ALossThatIsNotFiniteIsReturned) {
  Learner learner(small("lenet5"), 0);
  const auto values = filled(learner, std::numeric_limits<float>::quiet_NaN());
  learner.assign(Spans(values.begin(), values.end()));
  EXPECT_TRUE(std::isnan(learner.compute(0)));
}

TEST(Learner, WrongSizesAndOptionsAreNamed) {
  Learner learner(small("lenet5"), 0);
  learner.compute(0);
  Spans spans = gradients_of(learner);
  spans[1] = spans[0];
  EXPECT_THAT(input_error([&] { learner.apply(spans, 0); }),
              HasSubstr("conv1.bias: 500 elements, expected 20"));
  spans.pop_back();
  EXPECT_THAT(input_error([&] { learner.assign(spans); }), HasSubstr("7 tensors, expected 8"));
  EXPECT_THAT(input_error([&] { Learner(small("lenet5"), 1); }), HasSubstr("worker 1 of 1"));
  LearnerOptions options = small("lenet5");
  options.width = 2;
  EXPECT_THAT(input_error([&] { Learner(options, 0); }), HasSubstr("width"));
}

// Tests gradient clipping: with a bound of 1, a gradient of norm 5 moves the parameters as if it
// were divided by 5.
TEST(Learner, ClipsTheMeansNorm) {
  LearnerOptions options = small("lenet5");
  options.optimiser = "sgd:lr=1";
  options.clip = 1;
  Learner learner(options, 0);
  auto gradient = filled(learner);
  gradient[0][3] = 3;
  gradient[7][2] = -4;
  const float first = learner.values(0)[3];
  const float second = learner.values(7)[2];
  learner.apply(Spans(gradient.begin(), gradient.end()), 0);
  EXPECT_NEAR(learner.values(0)[3], first - 0.6F, 1e-6);
  EXPECT_NEAR(learner.values(7)[2], second + 0.8F, 1e-6);
}

TEST(Learner, TheSchedulesRateIsTaken) {
  LearnerOptions options = small("lenet5");
  options.optimiser = "sgd:lr=0.5";
  options.schedule = "step:at=0.5,factor=0.1";
  options.steps = 4;
  Learner learner(options, 0);
  const auto ones = filled(learner, 1);
  const float start = learner.values(0)[0];
  learner.apply(Spans(ones.begin(), ones.end()), 1);
  EXPECT_NEAR(learner.values(0)[0], start - 0.5F, 1e-6);
  learner.apply(Spans(ones.begin(), ones.end()), 2);
  EXPECT_NEAR(learner.values(0)[0], start - 0.55F, 1e-6);
  learner.set_rate_factor(0.5);
  learner.apply(Spans(ones.begin(), ones.end()), 3);
  EXPECT_NEAR(learner.values(0)[0], start - 0.575F, 1e-6);
}

TEST(Learner, EvaluatesAllThatIsHeldOutAndLearnsNothingFromIt) {
  for (const char* model : {"lenet5", "resnet20"}) {
    LearnerOptions options = small(model);
    if (options.model == "resnet20") options.held_out = 150;
    Learner learner(options, 0);
    learner.compute(0);
    const std::vector<std::byte> before = learner.state();
    const Evaluation first = learner.evaluate();
    // The batch of 100 that contains the 150th is the last one.
    EXPECT_EQ(first.samples, options.held_out > 0 ? 200U : 1000U);
    EXPECT_EQ(first.loss, learner.evaluate().loss);
    EXPECT_EQ(learner.state(), before);
    EXPECT_TRUE(first.accuracy >= 0 && first.accuracy <= 1);
    EXPECT_DOUBLE_EQ(first.perplexity, std::exp(first.loss));
  }
}

// The parameters predict one class for every input: its bias is 3, and the nine others are 0. So
// the accuracy is that class's fraction of the data, and the loss is known.
TEST(Learner, LossAndAccuracyAreThoseOfTheScores) {
  Learner learner(small("lenet5"), 0);
  auto values = filled(learner);
  values.back()[4] = 3;
  learner.assign(Spans(values.begin(), values.end()));
  const Evaluation result = learner.evaluate();
  const double normaliser = std::log(std::exp(3.0) + 9);
  EXPECT_NEAR(result.loss, normaliser - 3 * result.accuracy, 1e-5);
  // Every block of ten drawn digits contains each class once; a fifth of them is held out at
  // random.
  EXPECT_NEAR(result.accuracy, 0.1, 0.04);
}

/// Settings of a model's short run.
struct ShortRun {
  const char* model;
  double width;
  std::size_t batch;
  std::uint64_t steps;
  const char* optimiser;
  double falls_to;  ///< limit of the last 15 steps' mean loss, as a fraction of the first 5's
};

// The course of a short run depends on how a CPU's kernels round, as it does on the seed. Bounds
// are for the results of five seeds, with as much again between the worst of them and 1.

class EveryModelLearns : public ::testing::TestWithParam<ShortRun> {};

TEST_P(EveryModelLearns, LossFallsClearly) {
  LearnerOptions options;
  options.model = GetParam().model;
  options.width = GetParam().width;
  options.batch = GetParam().batch;
  options.steps = GetParam().steps;
  options.optimiser = GetParam().optimiser;
  options.clip = 1;
  Learner learner(options, 0);
  double first = 0;
  double last = 0;
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    const double loss = learner.compute(step);
    if (step < 5) first += loss / 5;
    if (step >= options.steps - 15) last += loss / 15;
    learner.apply(gradients_of(learner), step);
  }
  EXPECT_LT(last, GetParam().falls_to * first) << first << " -> " << last;
}

INSTANTIATE_TEST_SUITE_P(All, EveryModelLearns,
                         ::testing::Values(ShortRun{"resnet20", 1, 8, 60, "adam:lr=0.003", 0.85},
                                           ShortRun{"vgg16-cifar", 0.0625, 32, 100, "adam:lr=0.002",
                                                    0.85},
                                           ShortRun{"charlstm", 1, 4, 40, "adam:lr=0.003", 0.86},
                                           ShortRun{"wordlstm", 0.1, 4, 40, "adam:lr=0.01", 0.85},
                                           ShortRun{"gpt", 0.5, 4, 40, "adam:lr=0.003", 0.87}),
                         [](const auto& instance) {
                           std::string name = instance.param.model;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Learner, LossFallsAndHeldOutDigitsAreRecognised) {
  LearnerOptions options = small("lenet5");
  options.batch = 16;
  options.optimiser = "sgd:lr=0.02,momentum=0.9";
  Group group(options, 2);
  double first = 0;
  double last = 0;
  for (std::uint64_t step = 0; step < 100; ++step) {
    const double loss = group.step(step);
    (step < 10 ? first : last) += step < 10 || step >= 90 ? loss / 10 : 0;
  }
  EXPECT_LT(last, 0.6 * first);
  // One in ten would be chance.
  EXPECT_GT(group[0].evaluate().accuracy, 0.5);
}

}  // namespace
}  // namespace thinpipe
