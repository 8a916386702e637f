#include "workloads/capture/options.h"

#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "workloads/capture/optimiser_spec.h"
#include "workloads/models/catalogue.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxSteps = 1'000'000'000;

/// Reads options; those that are absent or null keep their defaults. Every function throws
/// InputError naming the option, what was found and what was expected.
class OptionReader {
 public:
  static constexpr double kUnbounded = std::numeric_limits<double>::max();

  /// @param whose  prefix of every message
  OptionReader(const json& object, const std::string& whose, const std::vector<std::string>& names)
      : root_(object, whose) {
    root_.allow_only(names);
  }
  std::optional<JsonField> find(const char* key) const {
    if (!root_.has(key) || root_.at(key).value().is_null()) return std::nullopt;
    return root_.at(key);
  }
  template <typename Integer>
  void integer(const char* key, Integer& value, std::uint64_t least, std::uint64_t most) const {
    if (const auto field = find(key))
      value = static_cast<Integer>(field->unsigned_integer(least, most));
  }
  void number(const char* key, double& value, double least, double most) const {
    if (const auto field = find(key)) value = field->number(least, most);
  }
  void string(const char* key, std::string& value) const {
    if (const auto field = find(key)) value = field->string();
  }
  void flag(const char* key, bool& value) const {
    if (const auto field = find(key)) value = field->boolean();
  }

 private:
  JsonField root_;
};

/// Checks that a model supports second moments.
/// @throws InputError for a model whose samples have no gradient of their own
void check_squares(bool squares, const ModelInfo& model, const std::string& whose) {
  if (!squares || model.training->independent_samples) return;
  std::string able;
  for (const std::string& name : trainable_models()) {
    if (find_model(name).training->independent_samples) able += (able.empty() ? "" : ", ") + name;
  }
  throw InputError(whose + ": squares: a sample of " + model.name +
                   " has no gradient of its own (expected a model without batch normalisation or "
                   "carried state: " +
                   able + ")");
}

// Returns the last recorded step, if the first recorded step is `from`. The allowed ranges of the
// options exclude an overflow.
std::uint64_t last_recorded(const CaptureOptions& options, std::uint64_t from) {
  return from + (options.record - 1) * options.every;
}

void check_recorded_steps(const CaptureOptions& options) {
  const std::uint64_t span = last_recorded(options, 0);
  if (span + kCaptureWarmUpSteps >= options.steps)
    throw InputError(
        fmt::format("capture: steps: {} are too few for {} recorded steps, {} apart, after {} "
                    "warm-up steps (expected at least {})",
                    options.steps, options.record, options.every, kCaptureWarmUpSteps,
                    span + kCaptureWarmUpSteps + 1));
  if (!options.from) return;
  const std::uint64_t latest = options.steps - 1 - span;
  if (*options.from < kCaptureWarmUpSteps || *options.from > latest)
    throw InputError(
        fmt::format("capture: from: {}, expected {} to {} (the first {} steps are warm-up, and {} "
                    "recorded steps, {} apart, must end by step {})",
                    *options.from, kCaptureWarmUpSteps, latest, kCaptureWarmUpSteps, options.record,
                    options.every, options.steps - 1));
}

// Masks apply to the momentum of a worker's own steps.
void check_mask(const LearnerOptions& options) {
  if (!options.mask_momentum) return;
  if (!options.updates)
    throw InputError(
        "train: mask_momentum: workers that exchange gradients all have the same momentum, "
        "whatever each "
        "has sent; expected updates");
  const OptimiserSpec optimiser = OptimiserSpec::parse(options.optimiser);
  const bool adam =
      optimiser.rule == OptimiserSpec::Rule::kAdam || optimiser.rule == OptimiserSpec::Rule::kAdamW;
  if (!adam && optimiser.momentum == 0)
    throw InputError("train: mask_momentum: " + options.optimiser +
                     " has no momentum; expected momentum above 0, adam or adamw");
}

}  // namespace

std::vector<std::uint64_t> CaptureOptions::recorded_steps() const {
  const std::uint64_t first = from.value_or(steps - 1 - last_recorded(*this, 0));
  std::vector<std::uint64_t> recorded;
  for (std::uint64_t i = 0; i < record; ++i) recorded.push_back(first + i * every);
  return recorded;
}

CaptureOptions parse_capture_options(const json& object) {
  const OptionReader read(
      object, "capture",
      {"out", "model", "workers", "steps", "record", "every", "from", "batch", "learning_rate",
       "momentum", "weight_decay", "data", "seed", "squares", "json"});
  CaptureOptions options;
  read.string("out", options.out);
  if (options.out.empty()) throw InputError("capture: out: expected the folder for the trace");
  read.string("model", options.model);
  const ModelInfo& model = find_trainable_model(options.model);
  options.batch = model.training->batch;
  options.learning_rate = model.training->learning_rate;
  options.momentum = model.training->momentum;
  read.integer("workers", options.workers, 1, 1024);
  read.integer("steps", options.steps, kCaptureWarmUpSteps + 1, kMaxSteps);
  read.integer("record", options.record, 1, kMaxSteps);
  read.integer("every", options.every, 1, kMaxSteps);
  if (const auto from = read.find("from")) options.from = from->unsigned_integer(0, kMaxSteps);
  read.integer("batch", options.batch, 1, 65'536);
  read.number("learning_rate", options.learning_rate, 1e-12, OptionReader::kUnbounded);
  read.number("momentum", options.momentum, 0, 0.999999);
  read.number("weight_decay", options.weight_decay, 0, OptionReader::kUnbounded);
  read.string("data", options.data);
  read.integer("seed", options.seed, 0, std::numeric_limits<std::uint64_t>::max());
  read.flag("squares", options.squares);
  check_squares(options.squares, model, "capture");
  read.flag("json", options.json);
  check_recorded_steps(options);
  return options;
}

json LearnerOptions::to_json() const {
  json object = {{"model", model},     {"width", width},         {"data", data},
                 {"workers", workers}, {"batch", batch},         {"seed", seed},
                 {"steps", steps},     {"optimiser", optimiser}, {"schedule", schedule},
                 {"clip", clip},       {"augment", augment},     {"held_out", held_out},
                 {"squares", squares}};
  // Left out where not used, because they would change the identity of older checkpoints.
  if (local_clip > 0) object["local_clip"] = local_clip;
  if (updates) object["updates"] = true;
  if (mask_momentum) object["mask_momentum"] = true;
  return object;
}

LearnerOptions parse_learner_options(const json& object) {
  const OptionReader read(
      object, "train",
      {"model", "width", "data", "workers", "batch", "seed", "steps", "optimiser", "schedule",
       "clip", "local_clip", "updates", "mask_momentum", "augment", "held_out", "squares"});
  LearnerOptions options;
  read.string("model", options.model);
  const ModelInfo& model = find_trainable_model(options.model);
  const TrainingDefaults& defaults = *model.training;
  options.batch = defaults.batch;
  options.optimiser =
      fmt::format("sgd:lr={},momentum={}", defaults.learning_rate, defaults.momentum);
  read.number("width", options.width, 0.01, 4);
  if (options.width != 1 && !defaults.has_width)
    throw InputError(fmt::format("train: width: {} has one width only; expected 1, found {:g}",
                                 model.name, options.width));
  read.string("data", options.data);
  read.integer("workers", options.workers, 1, 1024);
  read.integer("batch", options.batch, 1, 65'536);
  read.integer("seed", options.seed, 0, std::numeric_limits<std::uint64_t>::max());
  read.integer("steps", options.steps, 1, kMaxSteps);
  read.string("optimiser", options.optimiser);
  options.optimiser = OptimiserSpec::parse(options.optimiser).to_string();
  read.string("schedule", options.schedule);
  RateSchedule::parse(options.schedule, options.steps);
  read.number("clip", options.clip, 0, OptionReader::kUnbounded);
  read.number("local_clip", options.local_clip, 0, OptionReader::kUnbounded);
  read.flag("updates", options.updates);
  read.flag("mask_momentum", options.mask_momentum);
  check_mask(options);
  read.flag("augment", options.augment);
  if (options.augment && defaults.data != DataKind::kDigits && defaults.data != DataKind::kColour)
    throw InputError("train: augment: " + model.name + " learns text; expected an image model");
  read.integer("held_out", options.held_out, 0, std::numeric_limits<std::uint64_t>::max());
  read.flag("squares", options.squares);
  check_squares(options.squares, model, "train");
  if (options.squares && options.local_clip > 0)
    throw InputError(
        "train: local_clip: the second moments that the compressor needs are not clipped; expected "
        "local_clip 0");
  return options;
}

}  // namespace thinpipe
