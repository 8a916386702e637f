#include "harness/train/options.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "compressors/registry.h"
#include "harness/machine/programs.h"
#include "harness/plan/checks.h"
#include "workloads/models/catalogue.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/trace_format.h"

namespace thinpipe {

using nlohmann::json;

void ModelDescription::set_compute_time(double seconds) {
  const double factor = times.compute() > 0 ? seconds / times.compute() : 0;
  times.forward *= factor;
  times.backward *= factor;
  for (double& one : times.ready) one = std::min(one * factor, times.backward);
  measured = 0;
}

std::size_t ModelDescription::elements() const {
  return std::accumulate(
      tensors.begin(), tensors.end(), std::size_t{0},
      [](std::size_t sum, const TraceTensor& one) { return sum + one.elements; });
}

json ModelDescription::to_json() const {
  json parameters = json::array();
  for (const TraceTensor& tensor : tensors)
    parameters.push_back(
        {{"name", tensor.name}, {"shape", tensor.shape}, {"ready_order", tensor.ready_order}});
  return {{"data", data},
          {"tensors", parameters},
          {"forward", times.forward},
          {"backward", times.backward},
          {"ready", times.ready},
          {"measured", measured},
          {"evaluation", evaluation},
          {"epochs_a_step", epochs_a_step},
          {"chance", chance ? json(*chance) : json(nullptr)}};
}

ModelDescription ModelDescription::from_json(const JsonField& field) {
  constexpr double kMax = 1e9;  // s, epochs
  ModelDescription model;
  model.data = field.at("data").string();
  const JsonField tensors = field.at("tensors");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const JsonField one = tensors.at(i), shape = one.at("shape");
    TraceTensor tensor;
    tensor.name = one.at("name").string();
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      tensor.shape.push_back(
          static_cast<std::int64_t>(shape.at(axis).unsigned_integer(1, INT64_MAX)));
    tensor.elements = shape_elements(tensor.shape, shape.place());
    tensor.ready_order = one.at("ready_order").unsigned_integer(0, tensors.size() - 1);
    model.tensors.push_back(std::move(tensor));
  }
  model.times.forward = field.at("forward").number(0, kMaxPassSeconds);
  model.times.backward = field.at("backward").number(0, kMaxPassSeconds);
  const JsonField ready = field.at("ready");
  if (ready.size() != tensors.size())
    ready.fail(fmt::format("{} ready times for {} parameters", ready.size(), tensors.size()));
  for (std::size_t i = 0; i < ready.size(); ++i)
    model.times.ready.push_back(ready.at(i).number(0, kMaxPassSeconds));
  model.measured = static_cast<int>(field.at("measured").unsigned_integer(0, INT32_MAX));
  model.evaluation = field.at("evaluation").number(0, kMax);
  model.epochs_a_step = field.at("epochs_a_step").number(0, kMax);
  if (field.has("chance") && !field.at("chance").value().is_null())
    model.chance = field.at("chance").number(0, kMax);
  return model;
}

std::string training_identity(const LearnerOptions& options) {
  std::string local;
  if (options.local_clip > 0) local += fmt::format(";local_clip={}", options.local_clip);
  if (options.updates) local += ";updates";
  if (options.mask_momentum) local += ";mask_momentum";
  return fmt::format(
      "training-1:model={};width={};data={};batch={};optimiser={};schedule={};clip={}{};augment={}",
      options.model, options.width, options.data, options.batch, options.optimiser,
      options.schedule, options.clip, local, options.augment);
}

GivenDescription given_description(const ModelDescription& model, const LearnerOptions& options,
                                   int workers) {
  GivenDescription given;
  given.model = options.model;
  given.identity = training_identity(options);
  given.tensors = model.tensors;
  given.times = model.times;
  given.ranks = static_cast<std::size_t>(workers);
  given.squares = options.squares;
  return given;
}

ModelDescription describe_model(const LearnerOptions& options, bool measures) {
  const auto [text, status] =
      read_program(find_program("thinpipe-train-worker"),
                   {measures ? "--describe" : "--order", options.to_json().dump()}, STDERR_FILENO);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitUsage)
    throw InputError("the model cannot be trained with these options; see above");
  const json description = json::parse(text, nullptr, false);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || description.is_discarded())
    throw RunError(fmt::format("thinpipe-train-worker could not train {}{}", options.model,
                               WIFSIGNALED(status)
                                   ? fmt::format(": ended by signal {}", WTERMSIG(status))
                                   : std::string()));
  return ModelDescription::from_json({description, "the output of thinpipe-train-worker"});
}

bool TrainOptions::perplexity() const {
  return is_text(find_trainable_model(learner.model).training->data);
}

std::uint64_t seed_of(const SweepPoint& point, const TrainOptions& options) {
  return options.sweep.seed + static_cast<std::uint64_t>(point.repeat);
}

json settings_of(const TrainOptions& options) {
  json settings = settings_of(options.sweep);
  settings["eval_every"] = options.eval_every;
  settings["target"] = options.target ? json(options.target->to_string()) : json(nullptr);
  settings["compute_time"] = options.compute_time ? json(*options.compute_time) : json(nullptr);
  return settings;
}

// Includes all options that change a training's curves, so that no training resumes with others.
std::string identity_of(const SweepPoint& point, const TrainOptions& options) {
  const std::string compute =
      options.compute_time ? fmt::format("{} s", *options.compute_time) : "measured";
  return fmt::format("{}|{}|seed {}|evaluated every {}|compute {}", point.id(options.sweep),
                     training_identity(options.learner), seed_of(point, options),
                     options.eval_every, compute);
}

bool need_squares(const CompressorRules& compressors) {
  const auto specs = compressors.specs();
  return std::any_of(specs.begin(), specs.end(),
                     [](const Spec& spec) { return find_method(spec.name).needs_squares; });
}

LearnerOptions learner_of(const SweepPoint& point, const TrainOptions& options) {
  LearnerOptions learner = options.learner;
  learner.squares = need_squares(point.compressor);
  learner.workers = static_cast<std::size_t>(point.ranks);
  learner.seed = seed_of(point, options);
  learner.steps = options.sweep.steps;
  return learner;
}

}  // namespace thinpipe
