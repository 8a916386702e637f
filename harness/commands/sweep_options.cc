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
#include "workloads/collectives/collectives.h"
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

// Returns all compressors, baselines first.
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

SpecWords collective_words() {
  SpecWords words;
  for (const CollectiveInfo& collective : collectives())
    words[collective.name] = parameter_words(collective.parameters);
  return words;
}

OptionInfo compressors_option() {
  OptionInfo option = compressor_option(true);
  option.required = false;
  option.default_value = "topk:ratio=0.01";
  option.help += "; 'conv*:none;*:topk:ratio=0.01' selects by tensor name (docs/bucketing.md)";
  return option;
}

std::vector<LinkSpec> links_of(const Arguments& arguments) {
  std::vector<LinkSpec> links;
  for (const std::string& text : arguments.texts("link"))
    for (const LinkSpec& link : expand_link_specs(text)) {
      if (!link.throttled())
        throw InputError(fmt::format(
            "link {}: expected a rate, such as rate=1gbit, because reports plot results over rates",
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

std::vector<Spec> collectives_of(const Arguments& arguments) {
  std::vector<Spec> collectives;
  for (const std::string& text : arguments.texts("collective"))
    for (const Spec& collective : expand_collectives(text))
      if (std::find(collectives.begin(), collectives.end(), collective) == collectives.end())
        collectives.push_back(collective);
  return collectives;
}

int workers_of(int hosts, int servers) {
  if (hosts <= servers)
    throw InputError(
        fmt::format("{} hosts with {} servers of the collective leave no worker", hosts, servers));
  return hosts - servers;
}

}  // namespace

OptionInfo sweep_trace_option() {
  return {.name = "trace",
          .value_name = "DIR",
          .type = Type::kFolder,
          .help = "trace of gradients to replay, or synthetic:model=NAME,... (docs/synthetic.md)",
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
       .help = "link of each host: rate=100mbit,delay=10ms,loss=0.1%, or a preset such as lte; see "
               "`thinpipe list links`",
       .suggestions = link_suggestions(),
       .repeatable = true},
      {.name = "schedule",
       .value_name = "SPEC",
       .type = Type::kText,
       .default_value = "none",
       .help = "changes of the links over time, from a point's first step on: parts such as "
               "'outage:every=10s,lasts=1s' joined by `;`; the prefix of a link's name "
               "('host3:sine:...') restricts a part to that link; or a file; see `thinpipe net "
               "play`",
       .repeatable = true},
      {.name = "straggler",
       .value_name = "SPEC",
       .type = Type::kText,
       .default_value = "none",
       .help = "hosts that compute longer than recorded in the trace: parts such as "
               "'host3:compute=2' or 'hosts:jitter=0.2' joined by `;` (docs/stragglers.md)",
       .repeatable = true},
      topology_option(),
      {.name = "ranks",
       .letter = 'n',
       .value_name = "N",
       .type = Type::kText,
       .default_value = "4",
       .help = "number of ranks, each on an emulated host; 2|4|8 measures each"},
  };
}

std::vector<OptionInfo> sweep_step_options() {
  return {
      {.name = "steps",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "8",
       .help = "measured steps of each point",
       .minimum = 1,
       .maximum = 1e6},
      {.name = "warmup",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "2",
       .help = "unmeasured steps before the measured ones",
       .minimum = 0,
       .maximum = 1e6},
  };
}

std::vector<OptionInfo> sweep_replay_options() {
  OptionInfo collective = {.name = "collective",
                           .old_name = "pattern",
                           .value_name = "SPEC",
                           .type = Type::kText,
                           .default_value = "ring",
                           .help =
                               "collective that exchanges the payloads, from `thinpipe list "
                               "collectives`; ring|openmpi measures both",
                           .specs = collective_words(),
                           .repeatable = true};
  OptionInfo compute_scale = {
      .name = "compute-scale",
      .value_name = "X",
      .type = Type::kReal,
      .default_value = "1",
      .help = "factor on the captured compute time; 0 removes the compute time",
      .minimum = 0,
      .maximum = 1000};
  return joined({{collective},
                 bucketing_options(),
                 {compute_scale, time_scale_option(),
                  threads_option("each rank's encode and decode"), simd_option()}});
}

std::vector<OptionInfo> sweep_value_options() {
  return {
      {.name = "non-finite",
       .value_name = "POLICY",
       .type = Type::kChoice,
       .default_value = "error",
       .help = "NaN and infinity in a gradient fail the point (error) or become 0 (zero)",
       .choices = {"error", "zero"}},
      {.name = "seed",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "1",
       .help = "random seed of the order of points and of compressors that sample",
       .minimum = 0,
       .maximum = 9e15},
      {.name = "baseline",
       .value_name = "NAME",
       .type = Type::kChoice,
       .default_value = kBothBaselines,
       .help = "baseline for comparisons: fp32 (none), sums in 16 bits (bf16), or the faster of "
               "the two (both)",
       .choices = {"none", "bf16", kBothBaselines}},
      {.name = "no-baseline", .help = "do not measure the baselines"},
  };
}

std::vector<OptionGroup> sweep_groups() {
  return {
      {"Main options",
       {"trace", "model", "out", "compressor", "link", "ranks", "workers", "collective", "steps"}},
      {"Network", {"topology", "schedule", "straggler"}},
      {"Compressors and baselines", {"baseline", "no-baseline", "plugin", "non-finite", "device"}},
      {"Bucketing, overlap and gradient accumulation",
       {"overlap", "codec", "buckets", "granularity", "min-elements", "local-steps", "outer"}},
      {"Training",
       {"width", "data", "batch", "optimiser", "lr-schedule", "clip", "local-clip", "exchange",
        "mask-momentum", "augment", "seeds", "target", "eval-every", "checkpoint-every", "capture",
        "capture-every"}},
      {"Prediction", {"records", "codec-times", "message-time", "cores", "json"}},
      {"Measurement",
       {"warmup", "repeats", "epoch", "compute-time", "compute", "compute-scale", "time-scale",
        "threads", "simd", "seed", "check-every", "timeout", "share-machine"}},
      {"Interruptions and shards", {"resume", "shard"}},
      {"Real machines",
       {"hosts", "agent", "mpi-iface", "shape", "shape-anyway", "shape-prefix", "lease"}},
  };
}

OptionInfo sweep_out_option() {
  return {.name = "out",
          .value_name = "DIR",
          .type = Type::kFolder,
          .help = "folder for records.jsonl; created if missing",
          .required = true};
}

std::vector<OptionInfo> sweep_checking_options(const std::string& every) {
  return {
      {.name = "check-every",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = every,
       .help = "check the aggregate against a reference in every N-th step; 0 never checks",
       .minimum = 0,
       .maximum = 1e6},
      {.name = "timeout",
       .old_name = "patience",
       .value_name = "S",
       .type = Type::kReal,
       .default_value = "30",
       .help = "timeout of a step, in seconds, on top of ten times the expected duration of an "
               "uncompressed step with the schedule's outages; the point then fails",
       .minimum = 0.1,
       .maximum = 1e6},
      {.name = "share-machine",
       .help = "accept points that were measured while another run was measuring on this machine"},
  };
}

OptionInfo sweep_device_option() {
  return {.name = "device",
          .value_name = "NAME",
          .type = Type::kChoice,
          .default_value = kDeviceCpu,
          .help =
              "device of the gradients and compressors; ranks are assigned to the machine's "
              "GPUs (docs/gpu.md) round-robin",
          .choices = {kDeviceCpu, kDeviceCuda}};
}

OptionInfo sweep_resume_option() {
  return {.name = "resume", .help = "continue the records in OUT, skipping recorded points"};
}

void set_sweep_checks(const Arguments& arguments, SweepOptions& options) {
  options.check_every = static_cast<std::uint64_t>(arguments.integer("check-every"));
  options.timeout = arguments.real("timeout");
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
  options.collectives = collectives_of(arguments);
  int servers = 0;
  for (const Spec& collective : options.collectives)
    servers = std::max(servers, servers_of(collective));
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
  options.bucketings = bucketings_of(arguments);
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
          .help = "mini-batch size of each worker; by default the model's",
          .minimum = 1,
          .maximum = 65536};
}

OptionInfo data_option() {
  return {.name = "data",
          .value_name = "PATH",
          .type = Type::kFile,
          .help =
              "folder of MNIST or CIFAR-10 (binary), or a text file; by default generated "
              "digits and images, and a text that is part of thinpipe"};
}

}  // namespace thinpipe
