#include "workloads/training/server_model.h"

#include <algorithm>

#include <torch/types.h>

#include "workloads/capture/optimiser_spec.h"
#include "workloads/training/model.h"
#include "workloads/training/trainer.h"

namespace thinpipe {
namespace {

torch::Tensor copy_of(std::span<const float> values) {
  torch::Tensor tensor = torch::empty(static_cast<std::int64_t>(values.size()));
  std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
  return tensor;
}

}  // namespace

struct ServerModel::Inside {
  explicit Inside(const LearnerOptions& options)
      : optimiser(OptimiserSpec::parse(options.optimiser)),
        schedule(RateSchedule::parse(options.schedule, options.steps)) {}

  OptimiserSpec optimiser;
  RateSchedule schedule;
  double rate_factor = 1;
  std::vector<torch::Tensor> parts;
  std::vector<ParameterOptimiser> optimisers;  // by part
};

ServerModel::ServerModel(const LearnerOptions& options, std::span<const std::size_t> order,
                         std::span<const Part> parts)
    : inside_(std::make_unique<Inside>(options)) {
  use_one_thread();
  const NeuralNetwork network(options.model, options.width, options.seed);
  std::vector<float> all;
  for (const std::size_t i : order) {
    const auto values = floats_of(network.parameters().at(i));
    all.insert(all.end(), values.begin(), values.end());
  }
  for (const Part& part : parts) {
    inside_->parts.push_back(copy_of(std::span(all).subspan(part.begin, part.elements)));
    inside_->optimisers.emplace_back(inside_->optimiser,
                                     std::vector<torch::Tensor>{inside_->parts.back()});
  }
}

ServerModel::~ServerModel() = default;

void ServerModel::set_rate_factor(double factor) { inside_->rate_factor = factor; }

void ServerModel::update(std::size_t part, std::span<const float> mean, std::uint64_t step,
                         std::span<float> change) {
  const auto now = floats_of(inside_->parts.at(part));
  std::copy(now.begin(), now.end(), change.begin());
  inside_->optimisers[part].step({copy_of(mean)},
                                 inside_->rate_factor * inside_->schedule.factor(step));
  for (std::size_t i = 0; i < now.size(); ++i) change[i] = now[i] - change[i];
}

std::span<const float> ServerModel::values(std::size_t part) const {
  return floats_of(inside_->parts.at(part));
}

ServerModel::State ServerModel::state() {
  State state;
  for (std::size_t i = 0; i < inside_->parts.size(); ++i) {
    state.arrays.push_back(floats_of(inside_->parts[i]));
    for (auto& [name, buffers] : inside_->optimisers[i].buffers())
      state.arrays.push_back(floats_of(buffers.front()));
    state.updates.push_back(inside_->optimisers[i].updates());
  }
  return state;
}

void ServerModel::set_updates(std::span<const std::int64_t> updates) {
  for (std::size_t i = 0; i < inside_->optimisers.size(); ++i)
    inside_->optimisers[i].set_updates(updates[i]);
}

}  // namespace thinpipe
