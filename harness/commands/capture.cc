// `thinpipe capture`: passes its options to thinpipe-capture, since `thinpipe` has no libtorch.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/verbs.h"
#include "harness/machine/programs.h"
#include "harness/options/arguments.h"
#include "workloads/capture/options.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

// Returns the given options as CaptureOptions' JSON, whose names have underscores for dashes.
// Options that are not given are left out, because some defaults depend on the model.
nlohmann::json to_json(const Arguments& arguments) {
  nlohmann::json json = nlohmann::json::object();
  for (const OptionInfo& option : arguments.verb().options) {
    if (!arguments.given(option.name)) continue;
    std::string key = option.name;
    for (char& letter : key) letter = letter == '-' ? '_' : letter;
    switch (option.type) {
      case Type::kFlag:
        json[key] = true;
        break;
      case Type::kInteger:
        json[key] = arguments.integer(option.name);
        break;
      case Type::kReal:
        json[key] = arguments.real(option.name);
        break;
      default:
        json[key] = arguments.text(option.name);
    }
  }
  return json;
}

// Checks the options before any program starts. Removes the prefix "capture: ", which the command
// adds again.
void check(const nlohmann::json& options) {
  constexpr std::string_view kPrefix = "capture: ";
  try {
    parse_capture_options(options);
  } catch (const InputError& error) {
    const std::string_view text = error.what();
    throw InputError(std::string(text.substr(text.starts_with(kPrefix) ? kPrefix.size() : 0)));
  }
}

Action prepare_capture(const Arguments& arguments) {
  const nlohmann::json options = to_json(arguments);
  check(options);
  return
      [options]() -> int { replace_process(find_program("thinpipe-capture"), {options.dump()}); };
}

std::vector<OptionInfo> options() {
  const CaptureOptions defaults;
  OptionInfo model = model_option();
  model.required = false;
  model.default_value = defaults.model;
  return {
      model,
      {.name = "out",
       .letter = 'o',
       .value_name = "DIR",
       .type = Type::kFolder,
       .help = "folder for the trace; must be new or empty",
       .required = true},
      {.name = "workers",
       .letter = 'w',
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = std::to_string(defaults.workers),
       .help = "data-parallel workers, each with its own part of the data",
       .minimum = 1,
       .maximum = 1024},
      {.name = "steps",
       .letter = 's',
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = std::to_string(defaults.steps),
       .help = "training steps",
       .minimum = 4,
       .maximum = 1e9},
      {.name = "record",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = std::to_string(defaults.record),
       .help = "number of steps to record",
       .minimum = 1},
      {.name = "every",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = std::to_string(defaults.every),
       .help = "interval between recorded steps, in steps",
       .minimum = 1},
      {.name = "from",
       .value_name = "STEP",
       .type = Type::kInteger,
       .help = "first recorded step, counted from 0; by default such that the last training step "
               "is recorded",
       .minimum = 0},
      batch_option(),
      {.name = "learning-rate",
       .value_name = "X",
       .type = Type::kReal,
       .help = "learning rate; by default the model's",
       .minimum = 0},
      {.name = "momentum",
       .value_name = "X",
       .type = Type::kReal,
       .help = "momentum, below 1; by default the model's",
       .minimum = 0,
       .maximum = 0.999999},
      {.name = "weight-decay",
       .value_name = "X",
       .type = Type::kReal,
       .default_value = "0",
       .help = "weight decay",
       .minimum = 0},
      data_option(),
      {.name = "seed",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = std::to_string(defaults.seed),
       .help = "seed of the initial weights, the data and their order",
       .minimum = 0},
      {.name = "squares",
       .help = "record second moments as well, from per-sample gradients; gpt, lenet5 and "
               "vgg16-cifar only"},
      {.name = "json", .help = "print the summary as JSON"},
  };
}

}  // namespace

Verb capture_verb() {
  return {.name = "capture",
          .summary = "Train a model and record its gradients as a trace",
          .description =
              "Trains with synchronous data-parallel SGD. For every worker and selected step, "
              "records each gradient tensor and the time at which it was ready in the backward "
              "pass, as well as forward time, backward time and loss. `thinpipe run` replays the "
              "trace.\n\n"
              "Exits with 4 if the loss does not fall. An unfinished trace is removed.",
          .options = options(),
          .examples = {{"Ten steps of LeNet-5 on four workers", "thinpipe capture --out trace"},
                       {"Every 20th step of a character LSTM",
                        "thinpipe capture -m charlstm -s 300 --every 20 -o trace-lstm"}},
          .groups = {{"Main options",
                      {"model", "out", "workers", "steps", "record", "every", "from", "json"}},
                     {"Training",
                      {"batch", "learning-rate", "momentum", "weight-decay", "data", "squares",
                       "seed"}}},
          .prepare = prepare_capture};
}

}  // namespace thinpipe
