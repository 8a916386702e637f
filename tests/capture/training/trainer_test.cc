// Trainings in one process, and the model of a parameter server.
#include "workloads/training/trainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/data/digits.h"
#include "workloads/training/batches.h"
#include "workloads/training/learner.h"
#include "workloads/training/server_model.h"

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
    if (spec.rule == OptimiserSpec::Rule::kSignum) {
      v = spec.momentum * v + (1 - spec.momentum) * g;
      w -= rate * ((v > 0 ? 1 : v < 0 ? -1 : 0) + spec.weight_decay * w);
      return;
    }
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
                                           "adamw:lr=0.1,weight_decay=0.1", "signum:lr=0.1",
                                           "signum:lr=0.1,momentum=0.9,weight_decay=0.1"));

TEST(ClipNorm, ScalesWhatIsLongerByTheNormOfItsFiniteElements) {
  std::vector<torch::Tensor> gradients = {torch::tensor({3.0F, 0.0F}), torch::tensor({4.0F})};
  clip_norm(gradients, 10);
  EXPECT_EQ(gradients[1].item<float>(), 4);
  clip_norm(gradients, 2.5);  // the norm is 5
  EXPECT_EQ(gradients[0][0].item<float>(), 1.5F);
  EXPECT_EQ(gradients[1].item<float>(), 2);
  gradients[0][1] = std::nanf("");
  clip_norm(gradients, 1.25);  // the norm is 2.5
  EXPECT_EQ(gradients[1].item<float>(), 1);
  EXPECT_TRUE(std::isnan(gradients[0][1].item<float>()));
  gradients = {torch::tensor({3e30F}), torch::tensor({4e30F})};  // squares beyond 32 bits
  clip_norm(gradients, 5);
  EXPECT_FLOAT_EQ(gradients[0].item<float>(), 3);
}

CaptureOptions options_for(const std::string& model, std::size_t workers) {
  CaptureOptions options = parse_capture_options({{"out", "unused"}, {"model", model}});
  options.workers = workers;
  options.batch = 4;
  return options;
}

std::unique_ptr<BatchSource> small_batches(const CaptureOptions& options) {
  if (options.model == "charlstm")
    return make_text_batches(load_shipped_text(), options.workers, options.batch, 10);
  ImageSet images = options.model == "lenet5" ? draw_digits(200, 1) : draw_colour_digits(200, 1);
  return make_image_batches(
      std::move(images),
      {.workers = options.workers, .batch = options.batch, .seed = options.seed});
}

std::vector<torch::Tensor> copy_of(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> copies;
  for (const torch::Tensor& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

class TrainerTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { use_one_thread(); }
};

// Without momentum the update is w - lr * mean of the workers' gradients.
TEST_P(TrainerTest, MeanOfRecordedGradientsIsTheUpdate) {
  CaptureOptions options = options_for(GetParam(), 3);
  options.momentum = 0;
  options.learning_rate = 0.25;
  Trainer trainer(options, small_batches(options));
  trainer.step();
  const auto before = copy_of(trainer.parameters());
  std::vector<torch::Tensor> sums;
  trainer.step([&](const TrainerStep& worker) {
    ASSERT_EQ(worker.gradients.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (worker.worker == 0) {
        sums.push_back(worker.gradients[i].to(torch::kDouble));
      } else {
        sums[i] += worker.gradients[i];
      }
    }
  });
  for (std::size_t i = 0; i < before.size(); ++i) {
    const torch::Tensor expected = before[i].to(torch::kDouble) - 0.25 * sums[i] / 3;
    const double error =
        (trainer.parameters()[i].detach().to(torch::kDouble) - expected).abs().max().item<double>();
    // The limit covers the rounding of a sum of three floats, a division and an update: a few units
    // of 2^-24 for values below 2.
    EXPECT_LT(error, 8 * 2 * 0x1p-24) << trainer.names()[i];
    EXPECT_GT(sums[i].abs().max().item<double>(), 0) << trainer.names()[i];
  }
}

TEST_P(TrainerTest, ReadyTimesGrowInReadyOrderAndEndWithinTheBackwardPass) {
  const CaptureOptions options = options_for(GetParam(), 2);
  Trainer trainer(options, small_batches(options));
  std::vector<std::size_t> first_order;
  for (int step = 0; step < 3; ++step) {
    trainer.step([&](const TrainerStep& worker) {
      const std::vector<double>& ready = worker.times.ready;
      ASSERT_EQ(ready.size(), trainer.names().size());
      std::vector<std::size_t> order(ready.size());
      std::iota(order.begin(), order.end(), 0U);
      std::sort(order.begin(), order.end(),
                [&](std::size_t a, std::size_t b) { return ready[a] < ready[b]; });
      EXPECT_GT(ready[order.front()], 0);
      EXPECT_LE(ready[order.back()], worker.times.backward);
      EXPECT_GT(worker.times.forward, 0);
      // The same graph on one thread runs in the same order each time.
      if (first_order.empty()) first_order = order;
      EXPECT_EQ(order, first_order);
    });
  }
  // The last layer comes first in a backward pass, the first layer last.
  const auto rank_of = [&](std::size_t tensor) {
    return std::find(first_order.begin(), first_order.end(), tensor) - first_order.begin();
  };
  EXPECT_LT(rank_of(trainer.names().size() - 1), rank_of(0));
}

TEST_P(TrainerTest, SameSeedSameGradientsBitForBit) {
  const CaptureOptions options = options_for(GetParam(), 2);
  const auto run = [&] {
    Trainer trainer(options, small_batches(options));
    std::vector<std::vector<torch::Tensor>> gradients;
    for (int step = 0; step < 3; ++step)
      trainer.step([&](const TrainerStep& worker) { gradients.push_back(worker.gradients); });
    return gradients;
  };
  const auto first = run();
  const auto second = run();
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    for (std::size_t j = 0; j < first[i].size(); ++j)
      EXPECT_TRUE(torch::equal(first[i][j], second[i][j])) << i << " " << j;
  }
}

INSTANTIATE_TEST_SUITE_P(All, TrainerTest, ::testing::Values("lenet5", "charlstm", "resnet20"),
                         [](const auto& instance) { return instance.param; });

torch::Tensor loss_of(TrainableModel& model, const Batch& batch, Carry& carry) {
  return mean_loss(model.scores(batch.inputs, carry), batch.targets);
}

/// LeNet-5 with the trainer's parameters.
std::shared_ptr<TrainableModel> copy_of(const Trainer& trainer) {
  const auto model = make_model("lenet5");
  const torch::NoGradGuard no_grad;
  const auto parameters = model->parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].copy_(trainer.parameters()[i]);
  return model;
}

// The gradient handed out is that of the batch handed out, at the parameters before the step.
TEST(Trainer, GradientsAreThoseAutogradComputesAnew) {
  use_one_thread();
  const CaptureOptions options = options_for("lenet5", 2);
  Trainer trainer(options, small_batches(options));
  for (int step = 0; step < 3; ++step) trainer.step();
  const auto model = copy_of(trainer);
  const auto parameters = model->parameters();
  trainer.step([&](const TrainerStep& worker) {
    Carry carry;
    const auto expected = torch::autograd::grad({loss_of(*model, worker.batch, carry)}, parameters);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      EXPECT_TRUE(torch::equal(worker.gradients[i], expected[i])) << trainer.names()[i];
  });
}

TEST(Trainer, SquaresAreThoseOfEverySamplesGradient) {
  use_one_thread();
  const CaptureOptions options = options_for("lenet5", 1);
  Trainer trainer(options, small_batches(options));
  for (int step = 0; step < 3; ++step) trainer.step();
  const auto model = copy_of(trainer);
  const auto parameters = model->parameters();
  trainer.step([&](const TrainerStep& worker) {
    const auto squares = trainer.squares(worker.batch);
    std::vector<torch::Tensor> expected(parameters.size());
    std::vector<torch::Tensor> sums(parameters.size());
    for (std::int64_t z = 0; z < 4; ++z) {
      Carry carry;
      const Batch sample{worker.batch.inputs.narrow(0, z, 1), worker.batch.targets.narrow(0, z, 1)};
      const auto gradients = torch::autograd::grad({loss_of(*model, sample, carry)}, parameters);
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const torch::Tensor part = gradients[i].to(torch::kDouble) / 4;
        expected[i] = z == 0 ? part * part : expected[i] + part * part;
        sums[i] = z == 0 ? part : sums[i] + part;
      }
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_TRUE(torch::allclose(squares[i].to(torch::kDouble), expected[i], 1e-5, 0)) << i;
      // The mean of the samples' gradients is the mini-batch's gradient.
      EXPECT_TRUE(torch::allclose(worker.gradients[i].to(torch::kDouble), sums[i], 1e-3, 1e-6));
    }
  });
}

TEST(Trainer, WorkersSeeDifferentData) {
  const CaptureOptions options = options_for("lenet5", 2);
  const auto batches = small_batches(options);
  EXPECT_FALSE(torch::equal(batches->at(0, 0).inputs, batches->at(1, 0).inputs));
}

LearnerOptions options_with(const std::string& optimiser) {
  LearnerOptions options;
  options.model = "lenet5";
  options.batch = 4;
  options.steps = 4;
  options.optimiser = optimiser;
  options.schedule = "step:at=2,factor=0.1";
  return options;
}

constexpr const char* kOptimisers[] = {
    "sgd:lr=0.1,momentum=0.9,weight_decay=0.01", "sgd:lr=0.1,momentum=0.9,nesterov=1",
    "adam:lr=0.001", "adamw:lr=0.001,weight_decay=0.1", "signum:lr=0.001,momentum=0.9"};

/// A learner, and a server with all of its parameters in reverse order.
class Pair {
 public:
  explicit Pair(const LearnerOptions& options) : learner_(options, 0) {
    std::vector<std::size_t> order(learner_.parameters().size());
    std::iota(order.rbegin(), order.rend(), 0);
    std::vector<ServerModel::Part> parts;
    std::size_t begin = 0;
    for (const std::size_t i : order) {
      parts.push_back({begin, learner_.parameters()[i].elements});
      begin += parts.back().elements;
    }
    server_.emplace(options, order, parts);
  }

  Learner& learner() { return learner_; }
  ServerModel& server() { return *server_; }
  std::size_t count() const { return learner_.parameters().size(); }
  std::span<const float> on_server(std::size_t parameter) const {
    return server_->values(count() - 1 - parameter);
  }

  /// Takes a step on both sides and checks the changes. The factor is a plateau's.
  void step(std::uint64_t number, double factor) {
    learner_.compute(number);
    learner_.set_rate_factor(factor);
    server_->set_rate_factor(factor);
    std::vector<std::vector<float>> gradients, before;
    for (std::size_t i = 0; i < count(); ++i) {
      const auto gradient = learner_.gradient(i), values = learner_.values(i);
      gradients.emplace_back(gradient.begin(), gradient.end());
      before.emplace_back(values.begin(), values.end());
    }
    learner_.apply(std::vector<std::span<const float>>(gradients.begin(), gradients.end()), number);
    for (std::size_t i = 0; i < count(); ++i) {
      std::vector<float> change(gradients[i].size());
      server_->update(count() - 1 - i, gradients[i], number, change);
      for (std::size_t j = 0; j < change.size(); ++j)
        ASSERT_EQ(change[j], learner_.values(i)[j] - before[i][j]) << number << ' ' << i;
    }
  }

 private:
  Learner learner_;
  std::optional<ServerModel> server_;
};

TEST(ServerModel, UpdatesAsALearnerDoes) {
  for (const char* optimiser : kOptimisers) {
    SCOPED_TRACE(optimiser);
    Pair pair(options_with(optimiser));
    for (std::uint64_t step = 0; step < 4; ++step) {
      pair.step(step, step == 3 ? 0.25 : 1);
      for (std::size_t i = 0; i < pair.count(); ++i)
        ASSERT_TRUE(std::ranges::equal(pair.on_server(i), pair.learner().values(i))) << step;
    }
  }
}

TEST(ServerModel, GoesOnFromASavedState) {
  for (const char* optimiser : kOptimisers) {
    SCOPED_TRACE(optimiser);
    Pair pair(options_with(optimiser)), other(options_with(optimiser));
    pair.step(0, 1);
    pair.step(1, 1);
    const ServerModel::State from = pair.server().state(), to = other.server().state();
    ASSERT_EQ(from.arrays.size(), to.arrays.size());
    for (std::size_t i = 0; i < from.arrays.size(); ++i)
      std::copy(from.arrays[i].begin(), from.arrays[i].end(), to.arrays[i].begin());
    EXPECT_EQ(from.updates, std::vector<std::int64_t>(pair.count(), 2));
    other.server().set_updates(from.updates);
    other.learner().restore(pair.learner().state());
    pair.step(2, 1);
    other.step(2, 1);
    for (std::size_t i = 0; i < pair.count(); ++i)
      EXPECT_TRUE(std::ranges::equal(pair.on_server(i), other.on_server(i)));
  }
}

// libtorch computes the last elements of an array in a different way than the elements before them.
// So values may differ in their last bit if an array is cut.
TEST(ServerModel, MayBeCutAnywhere) {
  const LearnerOptions options = options_with(kOptimisers[0]);
  Learner learner(options, 0);
  std::vector<std::size_t> order(learner.parameters().size());
  std::iota(order.begin(), order.end(), 0);
  std::size_t elements = 0;
  for (const LearnerParameter& one : learner.parameters()) elements += one.elements;
  const ServerModel::Part parts[] = {{0, 1}, {1, 10000}, {10001, elements - 10001}};
  ServerModel server(options, order, parts);
  for (std::uint64_t step = 0; step < 2; ++step) {
    learner.compute(step);
    std::vector<std::span<const float>> gradients;
    std::vector<float> all;
    for (std::size_t i = 0; i < order.size(); ++i) {
      gradients.push_back(learner.gradient(i));
      all.insert(all.end(), gradients.back().begin(), gradients.back().end());
    }
    for (std::size_t i = 0; i < std::size(parts); ++i) {
      std::vector<float> change(parts[i].elements);
      server.update(i, std::span(all).subspan(parts[i].begin, parts[i].elements), step, change);
    }
    learner.apply(gradients, step);
  }
  std::vector<float> expected;
  for (std::size_t i = 0; i < order.size(); ++i)
    expected.insert(expected.end(), learner.values(i).begin(), learner.values(i).end());
  for (std::size_t i = 0; i < std::size(parts); ++i)
    for (std::size_t j = 0; j < parts[i].elements; ++j)
      ASSERT_NEAR(server.values(i)[j], expected[parts[i].begin + j], 1e-6) << i << ' ' << j;
}

}  // namespace
}  // namespace thinpipe
