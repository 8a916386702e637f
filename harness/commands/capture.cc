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
  model.default_value = defaults.model;
  return {
      model,
      required(folder_option("out,o", "DIR", "", "folder for the trace; must be new or empty")),
      integer_option("workers,w", "N", std::to_string(defaults.workers), {1, 1024},
                     "data-parallel workers, each with its own part of the data"),
      integer_option("steps,s", "N", std::to_string(defaults.steps), {4, 1e9}, "training steps"),
      integer_option("record", "N", std::to_string(defaults.record), {1},
                     "number of steps to record"),
      integer_option("every", "N", std::to_string(defaults.every), {1},
                     "interval between recorded steps, in steps"),
      integer_option("from", "STEP", "", {0},
                     "first recorded step, counted from 0; by default such that the last training "
                     "step is recorded"),
      batch_option(),
      real_option("learning-rate", "X", "", {0}, "learning rate; by default the model's"),
      real_option("momentum", "X", "", {0, 0.999999}, "momentum, below 1; by default the model's"),
      real_option("weight-decay", "X", "0", {0}, "weight decay"),
      data_option(),
      integer_option("seed", "N", std::to_string(defaults.seed), {0},
                     "seed of the initial weights, the data and their order"),
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
