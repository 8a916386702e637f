#include "workloads/capture/options.h"

#include <limits>

#include <fmt/format.h>

#include "workloads/capture/option_reader.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {

namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxSteps = 1'000'000'000;

// The last step that `record` steps from `from` on reach; nothing overflows within the bounds.
std::uint64_t last_recorded(const CaptureOptions& options, std::uint64_t from) {
  return from + (options.record - 1) * options.every;
}

void check_recorded_steps(const CaptureOptions& options) {
  const std::uint64_t span = last_recorded(options, 0);
  if (span + kCaptureWarmUpSteps >= options.steps) {
    throw InputError(
        fmt::format("capture: steps: {} are too few for {} recorded {} apart after {} of warm-up "
                    "(expected at least {})",
                    options.steps, options.record, options.every, kCaptureWarmUpSteps,
                    span + kCaptureWarmUpSteps + 1));
  }
  if (!options.from) return;
  const std::uint64_t latest = options.steps - 1 - span;
  if (*options.from < kCaptureWarmUpSteps || *options.from > latest) {
    throw InputError(
        fmt::format("capture: from: {}, expected {} to {} (the first {} steps warm up, and {} "
                    "recorded {} apart must end by step {})",
                    *options.from, kCaptureWarmUpSteps, latest, kCaptureWarmUpSteps, options.record,
                    options.every, options.steps - 1));
  }
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

}  // namespace thinpipe
