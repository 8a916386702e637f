#include "harness/train/train_role.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/output_file.h"
#include "compressors/registry.h"
#include "harness/train/checkpoint.h"
#include "workloads/replay/message.h"
#include "workloads/replay/plan.h"

namespace thinpipe {

using nlohmann::json;

namespace {

void write_floats(const std::string& file, std::span<const float> values) {
  OutputFile out(file);
  out.write(std::as_bytes(values));
  out.commit();
}

}  // namespace

TrainRole::TrainRole(GivenGradients& given, std::unique_ptr<Learner> learner,
                     const LearnerOptions& options, const RoleSettings& settings)
    : ReplayRole(given.trace(), settings),
      given_(given),
      learner_(std::move(learner)),
      servers_update_(settings.options.servers && settings.options.servers->servers_update),
      local_steps_(!servers_update_ &&
                   (options.updates || replay().period() > 1 || replay().outer() != nullptr)),
      masks_(learner_->parameters().size()),
      incremental_(replay().incremental()) {
  if (replay().outer() != nullptr &&
      std::find(incremental_.begin(), incremental_.end(), true) != incremental_.end())
    throw InputError(
        "an outer optimiser on changes of an estimate (memory=ef21) has no meaning; expected "
        "another memory, or --outer none");
  // A dense payload has every element, so a mask would leave no momentum.
  if (options.mask_momentum)
    for (const PlannedBucket& bucket : plan_buckets(
             given.trace().tensors(), settings.options.compressor, settings.options.bucketing))
      for (const PlannedUnit& unit : bucket.units)
        for (const std::size_t tensor : unit.tensors)
          masks_[tensor] = find_method(unit.compressor.name).has_pairs;
  for (std::size_t i = 0; i < incremental_.size(); ++i)
    estimate_.emplace_back(incremental_[i] ? learner_->parameters()[i].elements : 0);
  remember_parameters();
}

json TrainRole::answer(const json& message) {
  const std::string what = message.at("do");
  if (what == "load") return compute(message);
  if (what == "apply") return apply(message);
  if (what == "evaluate") return evaluate();
  if (what == "save") return save(message);
  if (what == "restore") return restore(message);
  if (what == "dump") return dump(message);
  return ReplayRole::answer(message);
}

void TrainRole::remember_parameters() {
  if (!local_steps_ && !servers_update_) return;
  agreed_.resize(learner_->parameters().size());
  for (std::size_t i = 0; i < agreed_.size(); ++i) {
    const auto values = learner_->values(i);
    agreed_[i].assign(values.begin(), values.end());
  }
}

json TrainRole::compute(const json& message) {
  const std::uint64_t step = message.at("index");
  learner_->set_rate_factor(message.at("rate_factor"));
  const double loss = learner_->compute(step);
  if (!std::isfinite(loss))
    throw RunError(fmt::format("step {}: the loss of the mini-batch is {}", step, loss));
  take_gradient(step);
  if (local_steps_) take_local_step(step);
  json said = ReplayRole::load(message);
  said["loss"] = loss;
  return said;
}

void TrainRole::take_gradient(std::uint64_t step) {
  for (std::size_t i = 0; i < learner_->parameters().size(); ++i) {
    const auto gradient = learner_->gradient(i);
    const std::span<float> values = given_.values(i);
    std::copy(gradient.begin(), gradient.end(), values.begin());
    for (float& value : values) {
      if (std::isfinite(value)) continue;
      if (settings().options.non_finite == NonFinite::kError)
        throw RunError(
            fmt::format("step {}: element {} of the gradient of '{}' is {}; --non-finite zero "
                        "replaces such values by 0",
                        step, &value - values.data(), learner_->parameters()[i].name, value));
      value = 0;
    }
    if (!given_.has_squares()) continue;
    const auto squares = learner_->squares(i);
    std::copy(squares.begin(), squares.end(), given_.squares(i).begin());
  }
}

// Hands over the decrease of the parameters in this worker's own step.
void TrainRole::take_local_step(std::uint64_t step) {
  const std::size_t count = learner_->parameters().size();
  std::vector<std::vector<float>> before(count);
  std::vector<std::span<const float>> gradient;
  for (std::size_t i = 0; i < count; ++i) {
    const auto values = learner_->values(i);
    before[i].assign(values.begin(), values.end());
    gradient.push_back(given_.values(i));
  }
  learner_->apply(gradient, step);
  for (std::size_t i = 0; i < count; ++i) {
    const auto after = learner_->values(i);
    const std::span<float> down = given_.values(i);
    for (std::size_t j = 0; j < down.size(); ++j) down[j] = before[i][j] - after[j];
  }
}

std::vector<std::span<const float>> TrainRole::mean_of_step() {
  std::vector<std::span<const float>> mean =
      replay().by_tensor(replay().outer() != nullptr ? replay().update() : replay().aggregate());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    if (!incremental_[i]) continue;
    std::transform(mean[i].begin(), mean[i].end(), estimate_[i].begin(), estimate_[i].begin(),
                   [](float change, float sum) { return sum + change; });
    mean[i] = estimate_[i];
  }
  return mean;
}

json TrainRole::apply(const json& message) {
  json said = {{"type", "applied"}};
  if (exchanged()) replay().fetch();
  follow_outer();
  if (exchanged()) {
    const std::vector<std::span<const float>> mean = mean_of_step();
    if (local_steps_ || servers_update_) {
      const float sign = servers_update_ ? 1 : -1;
      for (std::size_t i = 0; i < mean.size(); ++i)
        for (std::size_t j = 0; j < mean[i].size(); ++j) agreed_[i][j] += sign * mean[i][j];
      learner_->assign({std::vector<std::span<const float>>(agreed_.begin(), agreed_.end())});
      mask_momentum();
    } else {
      learner_->apply(mean, message.at("index"));
    }
  }
  if (message.value("digest", false)) said["digest"] = fmt::format("{:016x}", learner_->digest());
  return said;
}

void TrainRole::mask_momentum() {
  if (std::find(masks_.begin(), masks_.end(), true) == masks_.end()) return;
  const StepChecks checks = replay().checks();
  std::vector<float> own(checks.contribution_size());
  checks.own_contribution(own);
  const auto sent = replay().by_tensor(std::span(own).first(replay().aggregate().size()));
  for (std::size_t i = 0; i < sent.size(); ++i)
    if (masks_[i]) learner_->mask_momentum(i, sent[i]);
}

json TrainRole::evaluate() {
  json said = {{"type", "evaluated"}};
  if (settings().rank != 0) return said;
  const Evaluation found = learner_->evaluate();
  said["loss"] = found.loss;
  said["accuracy"] = found.accuracy;
  said["perplexity"] = found.perplexity;
  return said;
}

json TrainRole::save(const json& message) {
  RankState state;
  state.next_step = message.at("step");
  state.learner = learner_->state();
  replay().save_state(state.compressors);
  for (const std::vector<float>& one : estimate_) append_floats(one, state.estimate);
  return write_rank_state(message, settings().rank, state);
}

json TrainRole::restore(const json& message) {
  const RankState state = read_rank_state(message, settings().rank);
  ByteReader compressors(state.compressors);
  learner_->restore(state.learner);
  replay().load_state(compressors);
  ByteReader estimate(state.estimate);
  for (std::vector<float>& one : estimate_) take_floats(estimate, one);
  estimate.expect_end();
  remember_parameters();
  compressors.expect_end();
  return {{"type", "restored"}, {"step", state.next_step}};
}

json TrainRole::dump(const json& message) {
  const std::string folder = message.at("folder");
  write_floats(fmt::format("{}/gradient-{}", folder, settings().rank), given_.values());
  if (given_.has_squares())
    write_floats(fmt::format("{}/squares-{}", folder, settings().rank), given_.squares());
  return {{"type", "dumped"}};
}

}  // namespace thinpipe
