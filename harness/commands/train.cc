// `thinpipe train`: training with compressed gradients over throttled links.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "harness/train/train.h"
#include "reports/record/reader.h"
#include "reports/training/summary.h"

namespace thinpipe {
namespace {

constexpr int kMostTrainers = 64;  // processes with libtorch on one machine

using Type = OptionInfo::Type;

std::vector<OptionInfo> model_options() {
  return {
      model_option(),
      {.name = "width",
       .value_name = "X",
       .type = Type::kReal,
       .default_value = "1",
       .help = "channels or units times this, where the model can (thinpipe list models)",
       .minimum = 0.01,
       .maximum = 4},
      data_option(),
      batch_option(),
      {.name = "optimiser",
       .value_name = "SPEC",
       .type = Type::kText,
       .help =
           "sgd:lr=0.1,momentum=0.9,nesterov=1, adam:lr=0.001 or adamw; by default the model's"},
      {.name = "lr-schedule",
       .value_name = "SPEC",
       .type = Type::kText,
       .default_value = "constant",
       .help = "of the learning rate: constant, step:at=0.5/0.75,factor=0.1, decay, cosine, or "
               "plateau:after=2,factor=0.25, which waits for evaluations; each with warmup=0.05"},
      {.name = "clip",
       .value_name = "X",
       .type = Type::kReal,
       .default_value = "0",
       .help = "most that the mean gradient's norm may be; 0: no bound",
       .minimum = 0},
      {.name = "augment", .help = "shift images by chance, and mirror photographs"},
  };
}

std::vector<OptionInfo> length_options() {
  return {
      {.name = "steps",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "200",
       .help = "training steps",
       .minimum = 1,
       .maximum = 1e7},
      {.name = "seeds",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "1",
       .help = "every point is trained with so many seeds, from --seed on",
       .minimum = 1,
       .maximum = 1000},
      {.name = "target",
       .value_name = "WHAT",
       .type = Type::kText,
       .help = "quality on held-out data to which time and bytes are told: acc=0.9, loss=0.1 or "
               "ppl=20"},
      {.name = "eval-every",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "25",
       .help = "steps from one evaluation on held-out data to the next",
       .minimum = 1,
       .maximum = 1e7},
      {.name = "checkpoint-every",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "100",
       .help = "steps from one checkpoint to the next; 0: only when interrupted",
       .minimum = 0,
       .maximum = 1e7},
  };
}

std::vector<OptionInfo> time_and_capture_options() {
  return {
      {.name = "compute-time",
       .value_name = "S",
       .type = Type::kReal,
       .help = "a step computes S seconds; by default as long as one worker alone takes on this "
               "machine",
       .minimum = 0,
       .maximum = 1e5},
      {.name = "capture",
       .value_name = "DIR",
       .type = Type::kFolder,
       .help = "write what workers computed as traces, a folder in DIR for each point"},
      {.name = "capture-every",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "10",
       .help = "steps from one captured step to the next",
       .minimum = 1,
       .maximum = 1e7},
  };
}

// One link, and workers instead of ranks.
std::vector<OptionInfo> axis_options() {
  std::vector<OptionInfo> options = sweep_axis_options();
  for (OptionInfo& option : options) {
    if (option.name == "link") option.default_value = "rate=100mbit";
    if (option.name != "ranks") continue;
    option.name = "workers";
    option.letter = 'w';
    option.help = "workers, each on an emulated host of its own; 2|4|8 trains with several";
  }
  return options;
}

LearnerOptions learner_options_of(const Arguments& arguments) {
  nlohmann::json options = {
      {"model", arguments.text("model")},          {"width", arguments.real("width")},
      {"schedule", arguments.text("lr-schedule")}, {"clip", arguments.real("clip")},
      {"augment", arguments.flag("augment")},      {"seed", arguments.integer("seed")},
      {"steps", arguments.integer("steps")}};
  if (arguments.given("batch")) options["batch"] = arguments.integer("batch");
  if (arguments.given("optimiser")) options["optimiser"] = arguments.text("optimiser");
  if (arguments.given("data"))
    options["data"] = std::filesystem::absolute(arguments.text("data")).string();
  return parse_learner_options(options);
}

void check_target(const TrainOptions& options) {
  if (!options.target || options.target->figure == Target::Figure::kLoss) return;
  const bool of_text = options.target->figure == Target::Figure::kPerplexity;
  if (of_text != options.perplexity())
    throw InputError("--target " + options.target->to_string() + ": " + options.learner.model +
                     (of_text ? " learns images; expected acc=... or loss=..."
                              : " learns text; expected ppl=... or loss=..."));
}

Action prepare_train(const Arguments& arguments) {
  TrainOptions options;
  options.sweep = sweep_options_of(arguments, std::nullopt, kMostTrainers, "workers");
  options.sweep.out = std::filesystem::absolute(arguments.text("out"));
  options.sweep.warmup = 0;
  options.sweep.device = arguments.text("device");
  options.sweep.repeats = static_cast<int>(arguments.integer("seeds"));
  set_sweep_checks(arguments, options.sweep);
  options.sweep.command = arguments.command_line();
  check_schedules(options.sweep);
  options.learner = learner_options_of(arguments);
  if (arguments.given("target")) options.target = Target::parse(arguments.text("target"));
  check_target(options);
  options.eval_every = static_cast<std::uint64_t>(arguments.integer("eval-every"));
  options.checkpoint_every = static_cast<std::uint64_t>(arguments.integer("checkpoint-every"));
  if (arguments.given("compute-time")) options.compute_time = arguments.real("compute-time");
  if (arguments.given("capture"))
    options.capture = std::filesystem::absolute(arguments.text("capture"));
  options.capture_every = static_cast<std::uint64_t>(arguments.integer("capture-every"));
  return [options] {
    const int code = run_train(options);
    if (code == kExitGood || code == kExitFailed)
      write_text(training_text(read_records(options.sweep.out)));
    return code;
  };
}

}  // namespace

Verb train_verb() {
  return {
      .name = "train",
      .summary = "Train with compressed gradients over throttled links",
      .description =
          "Trains a model with one process a worker, each on an emulated host. In every step each "
          "worker computes its gradient for real; then the step goes by the emulated clock, as in "
          "`thinpipe run`: the time that a worker computes alone on this machine is waited for, "
          "gradients are compressed when they are ready, really exchanged over the throttled links "
          "and decoded, and their mean updates the parameters, which are the same bits on all "
          "workers. Every compressor is trained on every link with every seed; records have loss "
          "and held-out quality against steps, bytes and emulated seconds.\n\n"
          "With --device cuda gradients are computed on processors all the same, and go up to a "
          "GPU "
          "outside the emulated time; what follows happens there.\n\n"
          "What compressors are held against is always trained too: `none`, uncompressed, and "
          "`bf16`, summed in 16 bits (--baseline). A checkpoint of the interrupted "
          "point is left in OUT/checkpoints; --resume goes on from it, bit for bit. docs/train.md "
          "has the details.",
      .options = joined({model_options(),
                         {sweep_out_option()},
                         length_options(),
                         axis_options(),
                         sweep_replay_options(),
                         {sweep_device_option()},
                         time_and_capture_options(),
                         sweep_checking_options("50"),
                         sweep_value_options(),
                         {sweep_resume_option()}}),
      .examples =
          {
              {.purpose = "What Top-k costs in accuracy and saves in time on a slow link",
               .command = "thinpipe train -m lenet5 --out out -c topk:ratio=0.01 --link "
                          "rate=10mbit --target acc=0.9"},
              {.purpose = "Three seeds, so that the table has intervals",
               .command =
                   "thinpipe train -m lenet5 --out out -c 'topk:ratio=0.1|0.01' -c 3lc --seeds 3"},
              {.purpose = "Eight local steps, then an outer optimiser (DiLoCo)",
               .command = "thinpipe train -m charlstm --out out -c blockint4 --local-steps 8 "
                          "--outer diloco"},
          },
      .prepare = prepare_train};
}

}  // namespace thinpipe
