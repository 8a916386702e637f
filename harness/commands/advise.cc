// `thinpipe advise`: the compressor and the collective to use for a model on a network.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/visible.h"
#include "compressors/registry.h"
#include "harness/advise/advice.h"
#include "harness/commands/shared_options.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "harness/plan/checks.h"
#include "harness/predict/codec_profile.h"
#include "workloads/collectives/collectives.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {
namespace {

// One compressor of each kind, at the sizes that papers use.
constexpr const char* kAdvised[] = {"fp8",
                                    "int8",
                                    "blockint4:hadamard=true",
                                    "3lc",
                                    "3lc:s=1.75",
                                    "mqe1bit",
                                    "powersgd:rank=4",
                                    "topk:ratio=0.01",
                                    "topk:ratio=0.001",
                                    "dgc:ratio=0.001",
                                    "sidco:ratio=0.01",
                                    "sbc:p=0.01",
                                    "demo"};

// Sets the compressors, and the collectives. Leaves out defaults that no collective can exchange.
void set_choices(const Arguments& arguments, AdviceRequest& request) {
  SweepOptions& sweep = request.sweep;
  sweep.collectives = expand_collectives(arguments.text("collective"));
  for (const Spec& spec : all_compressors(arguments)) sweep.compressors.emplace_back(spec);
  if (!sweep.compressors.empty()) return;
  for (const char* text : kAdvised) {
    const CompressorRules compressor(parse_spec(text));
    (collectives_for(compressor, sweep).empty() ? request.unserved : sweep.compressors)
        .push_back(compressor);
  }
  if (sweep.compressors.empty())
    throw InputError("--collective " + in_quotes(arguments.text("collective")) +
                     ": it can exchange none of the default compressors; give --compressor");
}

std::string advised_trace(const Arguments& arguments) {
  if (arguments.given("trace") == arguments.given("model"))
    throw InputError("expected either --model NAME or --trace DIR");
  if (arguments.given("trace")) return arguments.text("trace");
  return fmt::format("synthetic:model={},steps=3", find_model(arguments.text("model")).name);
}

AdviceRequest advice_request(const Arguments& arguments) {
  AdviceRequest request;
  SweepOptions& sweep = request.sweep;
  sweep.plugins = load_plugins(arguments);
  sweep.threads = threads_of(arguments);
  sweep.simd = use_simd(arguments);
  sweep.trace = advised_trace(arguments);
  sweep.baselines = {kUncompressed, parse_spec("bf16")};
  set_choices(arguments, request);
  const std::string& link = arguments.text("link");
  sweep.links = expand_link_specs(link);
  if (sweep.links.size() != 1 || !sweep.links.front().throttled())
    throw InputError("--link " + in_quotes(link) + ": expected one link with a rate");
  sweep.topology = parse_topology(arguments.text("topology"));
  sweep.ranks = {hosts_of(arguments, sweep.topology)};
  sweep.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  for (const Spec& collective : sweep.collectives)
    if (servers_of(collective) > 0)
      throw InputError("--collective " + in_quotes(collective.to_string()) +
                       ": advice covers no parameter servers; `thinpipe predict` models them");
  request.bad_values = bad_values_of(arguments);
  sweep.zero_non_finite = request.bad_values == BadValues::kZero;
  request.max_error = arguments.real("max-error") / 100;
  request.seconds = arguments.real("seconds");
  sweep.topology.plan(sweep.ranks.front(), sweep.links.front());  // throws where it does not fit
  return request;
}

// "left out: demo 3lc, which gtopk cannot exchange"
std::string left_out_line(const AdviceRequest& request) {
  std::vector<std::string> names, collectives;
  for (const CompressorRules& one : request.unserved) names.push_back(one.to_string());
  for (const Spec& one : request.sweep.collectives) collectives.push_back(one.to_string());
  return fmt::format("left out: {}, which {} cannot exchange", fmt::join(names, " "),
                     fmt::join(collectives, "|"));
}

int run_advise(const Arguments& arguments, AdviceRequest request, const Trace& trace) {
  const MachineModel machines(arguments);
  request.machines = machines.of(request.sweep.ranks.front());
  PredictedOrigin origin{.compute = compute_origin(trace, request.sweep.compute_scale),
                         .codecs = measured_origin(request.sweep.threads),
                         .device = compute_device(trace)};
  const std::string& codecs = arguments.text("codecs");
  if (codecs == "memory" && !origin.device)
    throw InputError("--codecs memory: the compute times of " + request.sweep.trace.string() +
                     " are not a GPU's, so there is no memory bandwidth for a bound");
  if (codecs != "cpu" && origin.device) request.codecs = CodecTimes::kMemory;
  if (!request.unserved.empty()) print_message(for_stream(STDERR_FILENO, left_out_line(request)));
  Advice advice;
  {
    Progress progress(1);
    progress.describe("measuring compressors");
    advice = advise(request, trace, [&](double done, const std::string& compressor) {
      progress.describe(compressor);
      progress.reach(done);
    });
  }
  if (arguments.flag("json"))
    write_json(advice_json(advice, request, trace, origin));
  else
    write_stdout(advice_text(advice, request, trace, origin));
  return kExitGood;
}

Action prepare_advise(const Arguments& arguments) {
  const AdviceRequest request = advice_request(arguments);
  given_message_time(arguments);  // throws for a wrong one before anything is measured
  check_collectives(request.sweep);
  const auto trace = std::make_shared<const Trace>(open_trace(request.sweep.trace));
  return [&arguments, request, trace] { return run_advise(arguments, request, *trace); };
}

std::vector<OptionInfo> advise_options() {
  OptionInfo compressors = compressor_option(true);
  compressors.help = fmt::format("compressors to choose from; by default one of each kind: {}",
                                 fmt::join(kAdvised, " "));
  std::vector<std::string> models;
  for (const ModelInfo& model : model_catalogue()) models.push_back(model.name);
  return {
      sweep_trace_option(),
      text_option("model,m", "NAME", "",
                  "model of the catalogue in place of a trace, with generated gradients; see "
                  "`thinpipe list models`",
                  models),
      compressors,
      plugin_option(),
      link_option("link of each host, such as rate=1gbit,delay=50us, or a preset; see `thinpipe "
                  "list links`"),
      topology_option(),
      hosts_option("8"),
      text_option("collective", "SPEC", "ring|twoshot", "collectives to choose from"),
      choice_option("codecs", "WHERE", "auto", {"auto", "cpu", "memory"},
                    "codec times for the ranking: this CPU's (cpu), or the lower bound by the "
                    "memory bandwidth of the GPU that computes (memory); auto selects memory if "
                    "the compute times are a GPU's"),
      real_option("max-error", "PERCENT", "10", {0, 1e6},
                  "also recommend the fastest compressor whose relative error is at most this, in "
                  "percent"),
      real_option("seconds", "S", "6", {0, 1e6},
                  "time limit for measuring compressors, in seconds; compressors that are not "
                  "measured by then are left out"),
      integer_option("seed", "N", "1", {0, 9e15}, "random seed of compressors that sample"),
      non_finite_option(),
      threads_option("each rank's encode and decode"),
      simd_option(),
  };
}

}  // namespace

Verb advise_verb() {
  return {
      .name = "advise",
      .summary = "Recommend compressors for a model and a network",
      .description =
          "Ranks compressors and collectives by the predicted time of a training step, and shows "
          "the cost of each: the error of its payloads, and the results of earlier trainings with "
          "it. The answer takes seconds.\n\n"
          "The codec times (encode and decode) and errors are measured on this machine, on a "
          "sample of the gradients: some tensors of each kind and size. Step times are predicted "
          "by the models of `thinpipe predict` and compared with those of `none` (fp32) and "
          "`bf16`, each with its fastest collective. If the compute times are a GPU's, the ranking "
          "uses the lower bound of the codec times by the GPU's memory bandwidth, and the table "
          "also shows the step time with this CPU's codec (docs/advise.md).\n\n"
          "The output has a table of compressors, one table each for matrices, embeddings and "
          "vectors, the recommended compressors, the lines that use them in a PyTorch job, the "
          "`thinpipe run` command that measures them, and all assumptions.",
      .options = joined({advise_options(),
                         machine_model_options(),
                         {{.name = "json", .help = "print JSON for programs"}}}),
      .examples =
          {
              {.purpose = "A ResNet-50 on eight machines at 1 Gbit/s",
               .command = "thinpipe advise --model resnet50 --ranks 8 --link rate=1gbit"},
              {.purpose = "Your own gradients, between two sites",
               .command = "thinpipe advise --trace trace --ranks 2 --link rate=1gbit,delay=10ms"},
          },
      .groups =
          {
              {"Main options", {"model", "trace", "link", "ranks", "compressor", "max-error"}},
              {"Network", {"topology", "collective", "message-time"}},
              {"Codecs", {"codecs", "cores", "threads", "simd", "plugin"}},
              {"Measurement and output", {"seconds", "seed", "non-finite", "json"}},
          },
      .prepare = prepare_advise,
  };
}

}  // namespace thinpipe
