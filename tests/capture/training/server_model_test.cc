#include "workloads/training/server_model.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "workloads/training/learner.h"

namespace thinpipe {
namespace {

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
