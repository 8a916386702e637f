#include "harness/commands/sweep_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "compressors/registry.h"
#include "harness/commands/compressor_options.h"
#include "harness/commands/step_options.h"
#include "harness/commands/topology_options.h"
#include "netem/schedule/links.h"
#include "workloads/exchange/patterns.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

constexpr const char* kBothBaselines = "both";

std::vector<CompressorRules> baselines_of(const Arguments& arguments) {
  const std::string& given = arguments.text("baseline");
  std::vector<CompressorRules> baselines;
  for (const char* name : {"none", "bf16"})
    if (given == kBothBaselines || given == name) baselines.emplace_back(parse_spec(name));
  return baselines;
}

// Baselines first.
std::vector<CompressorRules> compressors_of(const Arguments& arguments) {
  std::vector<CompressorRules> all;
  if (!arguments.flag("no-baseline")) all = baselines_of(arguments);
  for (const std::string& text : arguments.texts("compressor"))
    for (const CompressorRules& rules : CompressorRules::expand(text)) {
      for (const Spec& spec : rules.specs()) check_spec(spec);
      if (std::find(all.begin(), all.end(), rules) == all.end()) all.push_back(rules);
    }
  return all;
}

std::vector<std::string> pattern_names() {
  std::vector<std::string> names;
  for (const PatternInfo& pattern : patterns()) names.push_back(pattern.name);
  return names;
}

OptionInfo compressors_option() {
  OptionInfo option = compressor_option(true);
  option.required = false;
  option.default_value = "topk:ratio=0.01";
  option.help += "; 'conv*:none;*:topk:ratio=0.01' chooses by tensors' names (docs/feeding.md)";
  return option;
}

std::vector<LinkSpec> links_of(const Arguments& arguments) {
  std::vector<LinkSpec> links;
  for (const std::string& text : arguments.texts("link"))
    for (const LinkSpec& link : expand_link_specs(text)) {
      if (!link.throttled())
        throw InputError(fmt::format(
            "link {}: a run needs a rate (such as rate=1gbit): results are drawn against it",
            in_quotes(link.to_string())));
      if (std::find(links.begin(), links.end(), link) == links.end()) links.push_back(link);
    }
  return links;
}

std::vector<ScheduleSpec> schedules_of(const Arguments& arguments) {
  std::vector<ScheduleSpec> schedules;
  for (const std::string& text : arguments.texts("schedule"))
    schedules.push_back(parse_schedule(text));
  return schedules;
}

std::vector<Stragglers> stragglers_of(const Arguments& arguments) {
  std::vector<Stragglers> all;
  for (const std::string& text : arguments.texts("straggler"))
    for (Stragglers& one : Stragglers::expand(text)) all.push_back(std::move(one));
  return all;
}

std::vector<Spec> patterns_of(const Arguments& arguments) {
  std::vector<Spec> patterns;
  for (const std::string& text : arguments.texts("pattern"))
    for (const Spec& pattern : expand_patterns(text))
      if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end())
        patterns.push_back(pattern);
  return patterns;
}

int workers_of(int hosts, int servers) {
  if (hosts <= servers)
    throw InputError(
        fmt::format("{} hosts with {} servers of the pattern leave no worker", hosts, servers));
  return hosts - servers;
}

}  // namespace

OptionInfo sweep_trace_option() {
  return {
      .name = "trace",
      .value_name = "DIR",
      .type = Type::kFolder,
      .help = "the captured gradients to replay, or synthetic:model=NAME,... (docs/synthetic.md)",
      .required = true};
}

std::vector<OptionInfo> sweep_axis_options() {
  return {
      compressors_option(),
      plugin_option(),
      {.name = "link",
       .letter = 'l',
       .value_name = "SPEC",
       .type = Type::kText,
       .default_value = "rate=10mbit|100mbit|1gbit",
       .help = "each host's link: rate=100mbit,delay=10ms,loss=0.1%, or a preset such as lte; see "
               "`thinpipe list links`",
       .suggestions = link_suggestions(),
       .repeatable = true},
      {.name = "schedule",
       .value_name = "SPEC",
       .type = Type::kText,
       .default_value = "none",
       .help = "what the links do over time while ranks run, from a point's first step on: parts "
               "such as 'outage:every=10s,lasts=1s' joined by `;`, of one link with its name in "
               "front ('host3:sine:...'), or a file; see `thinpipe net play`",
       .repeatable = true},
      {.name = "straggler",
       .value_name = "SPEC",
       .type = Type::kText,
       .default_value = "none",
       .help = "hosts that compute longer than the trace says: parts such as 'host3:compute=2' or "
               "'hosts:jitter=0.2' joined by `;` (docs/stragglers.md); given several times, each "
               "is measured",
       .repeatable = true},
      topology_option(),
      {.name = "ranks",
       .letter = 'n',
       .value_name = "N",
       .type = Type::kText,
       .default_value = "4",
       .help = "emulated hosts; 2|4|8 measures several"},
  };
}

std::vector<OptionInfo> sweep_step_options() {
  return {
      {.name = "steps",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "8",
       .help = "measured steps a point",
       .minimum = 1,
       .maximum = 1e6},
      {.name = "warmup",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "2",
       .help = "steps before those, not measured",
       .minimum = 0,
       .maximum = 1e6},
  };
}

std::vector<OptionInfo> sweep_replay_options() {
  OptionInfo pattern = {.name = "pattern",
                        .value_name = "SPEC",
                        .type = Type::kText,
                        .default_value = "ring",
                        .help =
                            "how payloads are exchanged: a pattern of `thinpipe list patterns`; "
                            "'ring|openmpi' measures several",
                        .suggestions = pattern_names(),
                        .repeatable = true};
  OptionInfo compute_scale = {.name = "compute-scale",
                              .value_name = "X",
                              .type = Type::kReal,
                              .default_value = "1",
                              .help = "times the captured compute time; 0 leaves it out",
                              .minimum = 0,
                              .maximum = 1000};
  return joined({{pattern},
                 feed_options(),
                 {compute_scale, time_scale_option(),
                  threads_option("each rank's encode and decode"), simd_option()}});
}

std::vector<OptionInfo> sweep_value_options() {
  return {
      {.name = "non-finite",
       .value_name = "POLICY",
       .type = Type::kChoice,
       .default_value = "error",
       .help = "a NaN or infinity in a gradient fails the point, or is replaced by 0",
       .choices = {"error", "zero"}},
      {.name = "seed",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "1",
       .help = "of the order of the points and of compressors that sample",
       .minimum = 0,
       .maximum = 9e15},
      {.name = "baseline",
       .value_name = "NAME",
       .type = Type::kChoice,
       .default_value = kBothBaselines,
       .help = "what compressors are held against: gradients as they are (none), summed in 16 bits "
               "(bf16), or the faster of both",
       .choices = {"none", "bf16", kBothBaselines}},
      {.name = "no-baseline", .help = "do not add the baselines to the compressors"},
  };
}

OptionInfo sweep_out_option() {
  return {.name = "out",
          .value_name = "DIR",
          .type = Type::kFolder,
          .help = "folder for records.jsonl; made if need be",
          .required = true};
}

std::vector<OptionInfo> sweep_checking_options(const std::string& every) {
  return {
      {.name = "check-every",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = every,
       .help = "the aggregate is held against a reference in every N-th step; 0 never",
       .minimum = 0,
       .maximum = 1e6},
      {.name = "patience",
       .value_name = "S",
       .type = Type::kReal,
       .default_value = "30",
       .help = "a point fails when a step takes S seconds more than ten times what a dense one "
               "should on its link, a schedule's outages included",
       .minimum = 0.1,
       .maximum = 1e6},
      {.name = "share-machine",
       .help = "do not call points invalid because another run measured on this machine at the "
               "same time"},
  };
}

OptionInfo sweep_device_option() {
  return {.name = "device",
          .value_name = "NAME",
          .type = Type::kChoice,
          .default_value = kDeviceCpu,
          .help =
              "where gradients lie and compressors run; of a machine's GPUs (docs/gpu.md) its "
              "ranks take one each, in turn",
          .choices = {kDeviceCpu, kDeviceCuda}};
}

OptionInfo sweep_resume_option() {
  return {.name = "resume", .help = "go on with the records in OUT, skipping what is there"};
}

void set_sweep_checks(const Arguments& arguments, SweepOptions& options) {
  options.check_every = static_cast<std::uint64_t>(arguments.integer("check-every"));
  options.patience = arguments.real("patience");
  options.share_machine = arguments.flag("share-machine");
  options.resume = arguments.flag("resume");
}

std::vector<OptionInfo> joined(std::vector<std::vector<OptionInfo>> lists) {
  std::vector<OptionInfo> all;
  for (std::vector<OptionInfo>& list : lists)
    std::move(list.begin(), list.end(), std::back_inserter(all));
  return all;
}

SweepOptions sweep_options_of(const Arguments& arguments, std::optional<HostsOptions> hosts,
                              int most_ranks, const char* ranks_option) {
  SweepOptions options;
  options.plugins = load_plugins(arguments);
  options.threads = threads_of(arguments);
  use_simd(arguments);
  options.simd = arguments.text("simd");
  options.baselines = baselines_of(arguments);
  options.compressors = compressors_of(arguments);
  options.links = links_of(arguments);
  options.schedules = schedules_of(arguments);
  options.stragglers = stragglers_of(arguments);
  options.topology = parse_topology(arguments.text("topology"));
  options.hosts = std::move(hosts);
  options.patterns = patterns_of(arguments);
  int servers = 0;
  for (const Spec& pattern : options.patterns) servers = std::max(servers, servers_of(pattern));
  const int given_hosts = options.hosts ? static_cast<int>(options.hosts->names.size())
                                        : options.topology.fixed_hosts();
  options.ranks = given_hosts > 0 && !arguments.given(ranks_option)
                      ? std::vector<int>{workers_of(given_hosts, servers)}
                      : count_alternatives({arguments.text(ranks_option)}, ranks_option,
                                           ranks_option, most_ranks);
  options.steps = static_cast<std::uint64_t>(arguments.integer("steps"));
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  options.compute_scale = arguments.real("compute-scale");
  options.time_scales = parse_time_scales(arguments.text("time-scale"));
  options.zero_non_finite = arguments.text("non-finite") == "zero";
  options.feeds = feeds_of(arguments);
  return options;
}

void check_schedules(const SweepOptions& options) {
  for (const Stragglers& stragglers : options.stragglers)
    for (const int ranks : options.ranks) stragglers.check(ranks);
  for (const ScheduleSpec& schedule : options.schedules)
    for (const int hosts : host_counts(options))
      for (const LinkSpec& link : options.links)
        scheduled_links(options.topology.plan(hosts, link), schedule);
}

OptionInfo model_option() {
  return {.name = "model",
          .letter = 'm',
          .value_name = "NAME",
          .type = Type::kChoice,
          .help = "model to train",
          .choices = trainable_models(),
          .required = true};
}

OptionInfo batch_option() {
  return {.name = "batch",
          .value_name = "N",
          .type = Type::kInteger,
          .help = "examples in a worker's mini-batch; by default the model's",
          .minimum = 1,
          .maximum = 65536};
}

OptionInfo data_option() {
  return {.name = "data",
          .value_name = "PATH",
          .type = Type::kFile,
          .help =
              "MNIST or CIFAR-10 (binary) folder, or plain text; by default drawn digits and "
              "images, and a text that comes with thinpipe"};
}

}  // namespace thinpipe
