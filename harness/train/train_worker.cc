// The ranks of a training job: workers, and parameter servers.
#include "harness/train/train_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "base/output_file.h"
#include "compressors/registry.h"
#include "harness/train/checkpoint.h"
#include "harness/train/options.h"
#include "harness/worker/role.h"
#include "workloads/replay/gradients.h"
#include "workloads/replay/message.h"
#include "workloads/replay/plan.h"
#include "workloads/training/learner.h"
#include "workloads/training/server_model.h"

namespace thinpipe {
namespace {

using nlohmann::json;

void write_floats(const std::string& file, std::span<const float> values) {
  OutputFile out(file);
  out.write(std::as_bytes(values));
  out.commit();
}

/// A rank that trains: a replay that computes its gradients instead of reading them. Answers these
/// messages in addition to those of a replay:
///   load {index, rate_factor} -> loaded {loss}: computes the gradient of that step's mini-batch
///   apply {index, digest}     -> applied {digest}: applies the step's aggregate to the parameters
///   evaluate                  -> evaluated {loss, accuracy, perplexity}: on rank 0 only
///   save {folder, step, id}   -> saved {}: writes this rank's file of a checkpoint
///   restore {folder, id}      -> restored {step}
///   dump {folder}             -> dumped {}: writes the last gradient, and second moments if there
///                                are any, as FP32 to the files gradient-RANK and squares-RANK
///
/// If all ranks exchange in every step without an outer optimiser, ranks exchange gradients, and
/// each worker's optimiser applies their mean. Otherwise, and with the option `updates`, workers
/// take local steps, and each step hands over the decrease of the parameters instead of a gradient.
/// After an exchange, all workers have the same parameters: those after the previous exchange minus
/// the mean of the workers' summed decreases, or minus the outer optimiser's update (FedAvg; SBC
/// alg. 1; DiLoCo alg. 1). With fragments, this holds for the fragment that was exchanged, and a
/// worker goes on with its own values of the others (Streaming DiLoCo alg. 2). With delayed
/// fragments, it mixes its own values with the new ones. The model is then that of the last
/// exchanges, which all workers have in common: it is evaluated and compared. With
/// `ps:update=servers` workers have no optimiser. All workers add the change of the model that the
/// servers send (3LC, figure 2b).
class TrainRole : public ReplayRole {
 public:
  /// @param given  receives the gradients of the replay
  TrainRole(GivenGradients& given, std::unique_ptr<Learner> learner, const LearnerOptions& options,
            const RoleSettings& settings)
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
    if (local_steps_) check_local_steps(settings.options.compressor.specs());
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
  json answer(const json& message) override {
    const std::string what = message.at("do");
    if (what == "load") return compute(message);
    if (what == "apply") return apply(message);
    if (what == "evaluate") return evaluate();
    if (what == "save") return save(message);
    if (what == "restore") return restore(message);
    if (what == "dump") return dump(message);
    return ReplayRole::answer(message);
  }

 private:
  // @throws InputError for compressors that cannot exchange the workers' own steps
  void check_local_steps(const std::vector<Spec>& compressors) const {
    const auto period_of = [](const Spec& spec) {
      return make_compressor(spec, {"", {1}, 1}, {})->period();
    };
    std::uint64_t period = period_of(compressors.front());
    // Tensors that are too small stay uncompressed, and are exchanged in every step.
    if (settings().options.bucketing.min_elements > 0 && period > 1) period = 0;
    for (const Spec& spec : compressors) {
      if (period_of(spec) != period)
        throw InputError(fmt::format(
            "{}: workers that take local steps agree on all parameters at once; expected one delay "
            "for all tensors, and no --min-elements",
            spec.to_string()));
      if (find_method(spec.name).needs_squares)
        throw InputError(fmt::format(
            "{}: its second moments are of gradients, and these workers exchange changes of the "
            "parameters; expected --exchange gradients, no delay and --outer none",
            spec.to_string()));
    }
  }

  json compute(const json& message) {
    const std::uint64_t step = message.at("index");
    learner_->set_rate_factor(message.at("rate_factor"));
    const double loss = learner_->compute(step);
    const std::string diverged = std::isfinite(loss)
                                     ? take_gradient()
                                     : fmt::format("the loss of the mini-batch is {}", loss);
    if (!diverged.empty())
      return {{"type", "loaded"}, {"diverged", fmt::format("step {}: {}", step, diverged)}};
    if (local_steps_) take_local_step(step);
    json said = ReplayRole::load(message);
    said["loss"] = loss;
    return said;
  }
  json apply(const json& message) {
    json said = {{"type", "applied"}};
    if (exchanged()) replay().fetch();
    follow_outer();
    if (exchanged()) {
      const std::vector<std::span<const float>> mean = mean_of_step();
      if (local_steps_ || servers_update_) {
        const float sign = servers_update_ ? 1 : -1;
        const std::vector<bool> in_turn = replay().tensors_in_turn(message.at("index"));
        const bool delayed = settings().options.bucketing.fragment_delay > 0;
        std::vector<std::vector<float>> merged(delayed ? mean.size() : 0);
        std::vector<std::span<const float>> values;
        for (std::size_t i = 0; i < mean.size(); ++i) {
          for (std::size_t j = 0; in_turn[i] && j < mean[i].size(); ++j)
            agreed_[i][j] += sign * mean[i][j];
          if (delayed && in_turn[i]) merged[i] = merge(i);
          values.push_back(!in_turn[i] ? learner_->values(i)
                                       : std::span<const float>(delayed ? merged[i] : agreed_[i]));
        }
        learner_->assign(values);
        mask_momentum();
      } else {
        learner_->apply(mean, message.at("index"));
      }
    }
    if (message.value("digest", false)) said["digest"] = fmt::format("{:016x}", digest());
    return said;
  }
  json evaluate() {
    json said = {{"type", "evaluated"}};
    if (settings().rank != 0) return said;
    const Evaluation found =
        replay().takes_turns() ? evaluation_of_agreed() : learner_->evaluate();
    said["loss"] = found.loss;
    said["accuracy"] = found.accuracy;
    said["perplexity"] = found.perplexity;
    return said;
  }
  json save(const json& message) {
    RankState state;
    state.next_step = message.at("step");
    state.learner = learner_->state();
    replay().save_state(state.compressors);
    for (const std::vector<float>& one : estimate_) append_floats(one, state.estimate);
    if (replay().takes_turns())
      for (const std::vector<float>& one : agreed_) append_floats(one, state.estimate);
    return write_rank_state(message, settings().rank, state);
  }
  json restore(const json& message) {
    const RankState state = read_rank_state(message, settings().rank);
    ByteReader compressors(state.compressors);
    learner_->restore(state.learner);
    replay().load_state(compressors);
    ByteReader estimate(state.estimate);
    for (std::vector<float>& one : estimate_) take_floats(estimate, one);
    remember_parameters();
    if (replay().takes_turns())
      for (std::vector<float>& one : agreed_) take_floats(estimate, one);
    estimate.expect_end();
    compressors.expect_end();
    return {{"type", "restored"}, {"step", state.next_step}};
  }
  json dump(const json& message) {
    const std::string folder = message.at("folder");
    write_floats(fmt::format("{}/gradient-{}", folder, settings().rank), given_.values());
    if (given_.has_squares())
      write_floats(fmt::format("{}/squares-{}", folder, settings().rank), given_.squares());
    return {{"type", "dumped"}, {"updates", local_steps_}};
  }

  // Returns what is wrong with the gradient; "" for nothing.
  std::string take_gradient() {
    for (std::size_t i = 0; i < learner_->parameters().size(); ++i) {
      const auto gradient = learner_->gradient(i);
      const std::span<float> values = given_.values(i);
      std::copy(gradient.begin(), gradient.end(), values.begin());
      for (float& value : values) {
        if (std::isfinite(value)) continue;
        if (settings().options.non_finite == NonFinite::kError)
          return fmt::format(
              "element {} of the gradient of '{}' is {}; --non-finite zero replaces such values by "
              "0",
              &value - values.data(), learner_->parameters()[i].name, value);
        value = 0;
      }
      if (!given_.has_squares()) continue;
      const auto squares = learner_->squares(i);
      std::copy(squares.begin(), squares.end(), given_.squares(i).begin());
    }
    return "";
  }
  // Hands over the decrease of the parameters in this worker's own step.
  void take_local_step(std::uint64_t step) {
    const std::vector<std::vector<float>> before = values_of_learner();
    std::vector<std::span<const float>> gradient;
    for (std::size_t i = 0; i < before.size(); ++i) gradient.push_back(given_.values(i));
    learner_->apply(gradient, step);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto after = learner_->values(i);
      const std::span<float> down = given_.values(i);
      for (std::size_t j = 0; j < down.size(); ++j) down[j] = before[i][j] - after[j];
    }
  }
  void remember_parameters() {
    if (local_steps_ || servers_update_) agreed_ = values_of_learner();
  }
  std::vector<std::vector<float>> values_of_learner() const {
    std::vector<std::vector<float>> all;
    for (std::size_t i = 0; i < learner_->parameters().size(); ++i) {
      const auto values = learner_->values(i);
      all.emplace_back(values.begin(), values.end());
    }
    return all;
  }
  void assign(const std::vector<std::vector<float>>& values) {
    learner_->assign({std::vector<std::span<const float>>(values.begin(), values.end())});
  }
  Evaluation evaluation_of_agreed() {
    const std::vector<std::vector<float>> own = values_of_learner();
    assign(agreed_);
    const Evaluation found = learner_->evaluate();
    assign(own);
    return found;
  }
  // Returns the values of a parameter with which this worker goes on after a delayed exchange: its
  // own ones, which have taken steps meanwhile, mixed with those of the exchange. The next exchange
  // concerns the decrease from the values of the exchange on.
  std::vector<float> merge(std::size_t parameter) {
    const auto mix = static_cast<float>(settings().options.bucketing.fragment_mix);
    const std::vector<float>& agreed = agreed_[parameter];
    const std::span<const float> own = learner_->values(parameter);
    std::vector<float> merged(own.size()), decrease(own.size());
    for (std::size_t j = 0; j < own.size(); ++j) {
      merged[j] = mix * own[j] + (1 - mix) * agreed[j];
      decrease[j] = agreed[j] - merged[j];
    }
    replay().set_sum(parameter, decrease);
    return merged;
  }
  // Returns a digest of the parameters that all workers have in common after an exchange.
  std::uint64_t digest() {
    if (!replay().takes_turns()) return learner_->digest();
    Digest digest;
    for (const std::vector<float>& one : agreed_) digest.add(std::span<const float>(one));
    return digest.value();
  }
  void mask_momentum() {
    if (std::find(masks_.begin(), masks_.end(), true) == masks_.end()) return;
    const StepChecks checks = replay().checks();
    std::vector<float> own(checks.contribution_size());
    checks.own_contribution(own);
    const auto sent = replay().by_tensor(std::span(own).first(replay().aggregate().size()));
    for (std::size_t i = 0; i < sent.size(); ++i)
      if (masks_[i]) learner_->mask_momentum(i, sent[i]);
  }
  std::vector<std::span<const float>> mean_of_step() {
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

  GivenGradients& given_;
  std::unique_ptr<Learner> learner_;
  bool servers_update_;                       ///< aggregates are changes of the model
  bool local_steps_;                          ///< workers take steps of their own
  std::vector<bool> masks_;                   ///< by parameter: the momentum where values were sent
  std::vector<bool> incremental_;             ///< by parameter
  std::vector<std::vector<float>> estimate_;  ///< of incremental parameters, else empty
  std::vector<std::vector<float>> agreed_;    ///< parameters after the last exchange; where workers
                                              ///< do not update them by the mean gradient
};

/// A parameter server. Answers save and restore with its own state, and only acknowledges those
/// messages of TrainRole that concern the worker's model.
class TrainServer : public ServerRole, private UnitUpdate {
 public:
  TrainServer(const Trace& trace, const RoleSettings& settings, const LearnerOptions& learner)
      : ServerRole(trace, settings), rank_(settings.rank) {
    const ReplayOptions& options = settings.options;
    if (!options.servers->servers_update) return;
    std::vector<std::size_t> order;
    for (const PlannedBucket& bucket :
         plan_buckets(trace.tensors(), options.compressor, options.bucketing))
      for (const PlannedUnit& unit : bucket.units)
        order.insert(order.end(), unit.tensors.begin(), unit.tensors.end());
    std::vector<ServerModel::Part> parts;
    for (const ReplayUnit& unit : averager().units())
      parts.push_back({unit.offset, unit.tensor.elements});
    model_ = std::make_unique<ServerModel>(learner, order, parts);
    averager().set_update(*this);
  }
  json answer(const json& message) override {
    const std::string what = message.at("do");
    if (what == "load") return load(message);
    if (what == "apply") return {{"type", "applied"}};
    if (what == "evaluate") return {{"type", "evaluated"}};
    if (what == "save") return save(message);
    if (what == "restore") return restore(message);
    if (what == "dump") return {{"type", "dumped"}};
    return ServerRole::answer(message);
  }

 private:
  void change_of(std::size_t unit, std::span<const float> mean, std::uint64_t step,
                 std::span<float> change) override {
    model_->update(unit, mean, step, change);
  }
  json load(const json& message) {
    if (model_) model_->set_rate_factor(message.at("rate_factor"));
    return ServerRole::answer(message);
  }
  json save(const json& message) {
    RankState state;
    state.next_step = message.at("step");
    averager().save_state(state.compressors);
    if (model_) {
      const ServerModel::State model = model_->state();
      append_piece(std::as_bytes(std::span(model.updates)), state.learner);
      for (const std::span<float> one : model.arrays) append_floats(one, state.learner);
    }
    return write_rank_state(message, rank_, state);
  }
  json restore(const json& message) {
    const RankState state = read_rank_state(message, rank_);
    ByteReader compressors(state.compressors);
    averager().load_state(compressors);
    compressors.expect_end();
    if (model_) {
      ByteReader learner(state.learner);
      ServerModel::State model = model_->state();
      const std::span<const std::byte> updates = take_piece(learner);
      if (updates.size() != std::span(model.updates).size_bytes())
        throw InputError(fmt::format("state: {} bytes of updates, expected {}", updates.size(),
                                     std::span(model.updates).size_bytes()));
      std::copy(updates.begin(), updates.end(),
                std::as_writable_bytes(std::span(model.updates)).begin());
      for (const std::span<float> one : model.arrays) take_floats(learner, one);
      learner.expect_end();
      model_->set_updates(model.updates);
    }
    return {{"type", "restored"}, {"step", state.next_step}};
  }

  int rank_;
  std::unique_ptr<ServerModel> model_;  ///< of this server's units, with update=servers; else null
};

class TrainWorker : public Worker {
 public:
  using Worker::Worker;

 private:
  std::unique_ptr<Role> make_role(const RoleSettings& settings, const json& message) override {
    const json& training = message.at("training");
    const ModelDescription model =
        ModelDescription::from_json({training.at("model"), "the model of a training"});
    const LearnerOptions options = parse_learner_options(training.at("learner"));
    given_ = std::make_unique<GivenGradients>(
        given_description(model, options, static_cast<int>(options.workers)));
    if (!settings.is_worker())
      return std::make_unique<TrainServer>(given_->trace(), settings, options);
    auto learner = std::make_unique<Learner>(options, static_cast<std::size_t>(rank()));
    for (std::size_t i = 0; i < model.tensors.size(); ++i)
      if (i >= learner->parameters().size() ||
          learner->parameters()[i].elements != model.tensors[i].elements)
        throw InputError(fmt::format("parameter {} of {} does not match its description",
                                     model.tensors[i].name, options.model));
    return std::make_unique<TrainRole>(*given_, std::move(learner), options, settings);
  }
  const Trace& trace() const override { return given_->trace(); }

  std::unique_ptr<GivenGradients> given_;
};

}  // namespace

std::unique_ptr<Worker> make_train_worker(MessageSocket socket, std::string scratch) {
  return std::make_unique<TrainWorker>(std::move(socket), std::move(scratch));
}

}  // namespace thinpipe
