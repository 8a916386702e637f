// `thinpipe train`: trains with compressed gradients over throttled links.
#include <fmt/format.h>

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
#include "harness/plan/checks.h"
#include "harness/train/options.h"
#include "reports/record/reader.h"
#include "reports/training/summary.h"

namespace thinpipe {
namespace {

constexpr int kMaxTrainers = 64;  // processes with libtorch on one machine

std::vector<OptionInfo> model_options() {
  return {
      required(model_option()),
      real_option("width", "X", "1", {0.01, 4},
                  "factor on the number of channels or units, for models that support it (thinpipe "
                  "list models)"),
      data_option(),
      batch_option(),
      text_option("optimiser", "SPEC", "",
                  "optimiser: sgd:lr=0.1,momentum=0.9,nesterov=1, adam:lr=0.001, adamw or "
                  "signum:lr=0.001; by default the model's"),
      text_option("lr-schedule", "SPEC", "constant",
                  "learning-rate schedule: constant, step:at=0.5/0.75,factor=0.1, decay, cosine, "
                  "or plateau:after=2,factor=0.25 (after 2 evaluations without improvement); each "
                  "also takes warmup=0.05; times below 1 are fractions of the training, others are "
                  "steps"),
      real_option("clip", "X", "0", {0}, "maximum norm of the mean gradient; 0 disables clipping"),
      real_option("local-clip", "X", "0", {0},
                  "maximum norm of each worker's own gradient before compression, times the root "
                  "of the number of workers, as in DGC; 0 disables clipping"),
      choice_option("exchange", "WHAT", "gradients", {"gradients", "updates"},
                    "what workers compress: gradients, whose mean every worker's optimiser "
                    "applies; or updates, the changes of the parameters in a step of each worker's "
                    "own optimiser (SBC, algorithm 1). With a delay or local steps, always "
                    "updates"),
      {.name = "mask-momentum",
       .help = "with --exchange updates, set the momentum to 0 where a worker has sent a value "
               "of a sparse payload"},
      {.name = "augment", .help = "shift images at random, and mirror photographs at random"},
  };
}

std::vector<OptionInfo> length_options() {
  return {
      integer_option("steps", "N", "200", {1, 1e7}, "training steps"),
      integer_option("seeds", "N", "1", {1, 1000},
                     "number of seeds for each point, starting at --seed"),
      text_option("target", "WHAT", "",
                  "target quality on held-out data, for time and bytes to target: acc=0.9, "
                  "loss=0.1 or ppl=20"),
      integer_option("eval-every", "N", "25", {1, 1e7},
                     "interval between evaluations on held-out data, in steps"),
      integer_option("checkpoint-every", "N", "100", {0, 1e7},
                     "interval between checkpoints, in steps; 0 saves one only on interruption"),
  };
}

std::vector<OptionInfo> time_and_capture_options() {
  return {
      real_option("compute-time", "S", "", {0, 1e5},
                  "compute time of a step, in seconds; by default that of one worker alone on this "
                  "machine"),
      folder_option("capture", "DIR", "",
                    "record the workers' gradients as traces, with a folder in DIR for each point"),
      integer_option("capture-every", "N", "10", {1, 1e7},
                     "interval between captured steps, in steps"),
  };
}

// Returns the axes of a sweep with one default link, and with workers instead of ranks.
std::vector<OptionInfo> axis_options() {
  std::vector<OptionInfo> options = sweep_axis_options();
  for (OptionInfo& option : options) {
    if (option.name == "link") option.default_value = "rate=100mbit";
    if (option.name != "ranks") continue;
    option.name = "workers";
    option.letter = 'w';
    option.help = "number of workers, each on an emulated host; 2|4|8 trains with each";
  }
  return options;
}

LearnerOptions learner_options_of(const Arguments& arguments) {
  nlohmann::json options = {{"model", arguments.text("model")},
                            {"width", arguments.real("width")},
                            {"schedule", arguments.text("lr-schedule")},
                            {"clip", arguments.real("clip")},
                            {"local_clip", arguments.real("local-clip")},
                            {"augment", arguments.flag("augment")},
                            {"updates", arguments.text("exchange") == "updates"},
                            {"mask_momentum", arguments.flag("mask-momentum")},
                            {"seed", arguments.integer("seed")},
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
                     (of_text ? " is an image model; expected acc=... or loss=..."
                              : " is a text model; expected ppl=... or loss=..."));
}

// Workers of servers that have the optimiser cannot take steps of their own.
void check_updating_servers(const TrainOptions& options) {
  const Spec* const collective = with_updating_servers(options.sweep);
  if (collective == nullptr) return;
  const auto refuse = [&](const char* option, const char* why) {
    throw InputError(fmt::format("{} with collective '{}': {}; expected update=workers, or no {}",
                                 option, collective->to_string(), why, option));
  };
  for (const Bucketing& bucketing : options.sweep.bucketings) {
    if (bucketing.local_steps > 1) refuse("--local-steps", "workers have no optimiser");
    if (bucketing.outer) refuse("--outer", "workers have no optimiser");
  }
  if (options.learner.updates) refuse("--exchange updates", "workers have no optimiser");
  if (options.learner.clip > 0) refuse("--clip", "no server has the whole gradient");
}

Action prepare_train(const Arguments& arguments) {
  TrainOptions options;
  options.sweep = sweep_options_of(arguments, std::nullopt, kMaxTrainers, "workers");
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
  check_updating_servers(options);
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
          "Trains a model with one process per worker, each on an emulated host. In every step, "
          "each worker first computes its gradient, which is not timed. The step is then timed as "
          "in `thinpipe run`. Each worker waits for the compute time of one worker alone on this "
          "machine (--compute-time). Gradients "
          "are compressed when they are ready, exchanged over the throttled links and decoded. "
          "Their mean updates the parameters, which are bit-identical on all workers. Every "
          "compressor is trained on every link with every seed. Records have loss and held-out "
          "quality over steps, bytes and emulated seconds.\n\n"
          "With --device cuda, gradients are still computed on the CPU. They are copied to a GPU "
          "outside the emulated time, and all later work is on the GPU.\n\n"
          "The baselines are trained too: `none` (fp32) and `bf16`, which sums in 16 bits "
          "(--baseline, --no-baseline). After an interruption, OUT/checkpoints has a checkpoint of "
          "the current point, and --resume continues from it bit for bit. docs/train.md has the "
          "details.",
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
          {{"Accuracy loss and time saving of top-k on a slow link",
            "thinpipe train -m lenet5 --out out -c topk:ratio=0.01 --link rate=10mbit --target "
            "acc=0.9"},
           {"Three seeds, for intervals in the table",
            "thinpipe train -m lenet5 --out out -c 'topk:ratio=0.1|0.01' -c 3lc --seeds 3"},
           {"Eight local steps and an outer optimiser (DiLoCo)",
            "thinpipe train -m charlstm --out out -c blockint4 --local-steps 8 --outer diloco"}},
      .groups = sweep_groups(),
      .prepare = prepare_train};
}

}  // namespace thinpipe
