// `thinpipe run`: replays a trace through compressors over throttled links.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "base/error.h"
#include "harness/commands/compressor_options.h"
#include "harness/commands/hosts_options.h"
#include "harness/commands/kernel_options.h"
#include "harness/commands/plugins.h"
#include "harness/commands/time_scale_option.h"
#include "harness/commands/topology_options.h"
#include "harness/commands/verbs.h"
#include "harness/options/alternatives.h"
#include "harness/options/arguments.h"
#include "harness/sweep/sweep.h"
#include "netem/schedule/links.h"
#include "reports/record/reader.h"
#include "reports/scale/scale.h"

namespace thinpipe {
namespace {

constexpr int kMostRanks = 250;  // more than a machine emulates

// The dense baseline first.
std::vector<Spec> compressors_of(const Arguments& arguments) {
  if (arguments.flag("no-baseline")) return all_compressors(arguments);
  return all_compressors(arguments, {parse_spec("none")});
}

OptionInfo compressors_option() {
  OptionInfo option = compressor_option(true);
  option.required = false;
  option.default_value = "topk:ratio=0.01";
  return option;
}

std::vector<LinkSpec> links_of(const Arguments& arguments) {
  std::vector<LinkSpec> links;
  for (const std::string& text : arguments.texts("link"))
    for (const LinkSpec& link : expand_link_specs(text)) {
      if (!link.throttled())
        throw InputError(
            fmt::format("link '{}': a run needs a rate (such as rate=1gbit): results"
                        " are drawn against it",
                        link.to_string()));
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

// Says now what does not fit.
void check_schedules(const SweepOptions& options) {
  for (const ScheduleSpec& schedule : options.schedules)
    for (const int ranks : options.ranks)
      for (const LinkSpec& link : options.links)
        scheduled_links(options.topology.plan(ranks, link), schedule);
}

// Whether points that were measured at several time scales came out the same.
void print_agreement(const std::filesystem::path& folder) {
  for (const ScaleAgreement& agreement : compare_time_scales(read_records(folder)))
    std::fprintf(stderr, "%s\n", agreement_sentence(agreement).c_str());
}

int run_sweep_of(const Arguments& arguments) {
  SweepOptions options;
  options.plugins = load_plugins(arguments);
  options.threads = threads_of(arguments);
  use_simd(arguments);
  options.simd = arguments.text("simd");
  options.trace = arguments.text("trace");
  options.out = arguments.text("out");
  options.compressors = compressors_of(arguments);
  options.links = links_of(arguments);
  options.schedules = schedules_of(arguments);
  options.topology = parse_topology(arguments.text("topology"));
  options.hosts = hosts_of(arguments);
  const int given_hosts = options.hosts ? static_cast<int>(options.hosts->names.size())
                                        : options.topology.fixed_hosts();
  options.ranks = given_hosts > 0 && !arguments.given("ranks")
                      ? std::vector<int>{given_hosts}
                      : count_alternatives({arguments.text("ranks")}, "ranks", "ranks", kMostRanks);
  if (options.hosts)
    check_hosts(*options.hosts, options, arguments.given("link"), arguments.given("schedule"));
  check_schedules(options);
  options.repeats = static_cast<int>(arguments.integer("repeats"));
  options.warmup = static_cast<std::uint64_t>(arguments.integer("warmup"));
  options.steps = static_cast<std::uint64_t>(arguments.integer("steps"));
  options.check_every = static_cast<std::uint64_t>(arguments.integer("check-every"));
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed"));
  options.compute_scale = arguments.real("compute-scale");
  options.time_scales = parse_time_scales(arguments.text("time-scale"));
  options.zero_non_finite = arguments.text("non-finite") == "zero";
  options.pattern = arguments.text("pattern");
  options.patience = arguments.real("patience");
  options.share_machine = arguments.flag("share-machine");
  options.resume = arguments.flag("resume");
  options.command = arguments.command_line();
  const int code = run_sweep(options);
  if (options.time_scales.size() > 1) print_agreement(options.out);
  return code;
}

}  // namespace

Verb run_verb() {
  using Type = OptionInfo::Type;
  Verb verb{
      .name = "run",
      .summary = "Replay a trace through compressors over throttled links",
      .description =
          "Starts one MPI rank on each emulated host, and for every combination of compressor, link"
          " and number of ranks replays the trace: each rank waits the captured compute time,"
          " compresses its gradients, exchanges the payloads over the throttled links and decodes"
          " what arrived. Every point is checked against a reference and appended to"
          " OUT/records.jsonl when it ends; `thinpipe report OUT` draws them.\n\n"
          "The uncompressed baseline `none` is always measured too. A rank beyond those in the"
          " trace replays one of them some steps later. Needs no root: the network lives in"
          " namespaces that end with the command, however it ends.\n\n"
          "With --hosts the ranks run on machines of yours instead, one on each; nothing is "
          "throttled"
          " there unless --shape names an interface (docs/real-hosts.md).",
      .options =
          {
              {.name = "trace",
               .value_name = "DIR",
               .type = Type::kFolder,
               .help = "the captured gradients to replay, or synthetic:model=NAME,... "
                       "(docs/synthetic.md)",
               .required = true},
              {.name = "out",
               .value_name = "DIR",
               .type = Type::kFolder,
               .help = "folder for records.jsonl; made if need be",
               .required = true},
              compressors_option(),
              plugin_option(),
              {.name = "link",
               .letter = 'l',
               .value_name = "SPEC",
               .type = Type::kText,
               .default_value = "rate=10mbit|100mbit|1gbit",
               .help = "each host's link: rate=100mbit,delay=10ms,loss=0.1%, or a preset such as"
                       " lte; see `thinpipe list links`",
               .repeatable = true},
              {.name = "schedule",
               .value_name = "SPEC",
               .type = Type::kText,
               .default_value = "none",
               .help = "what the links do over time while ranks run, from a point's first step on:"
                       " parts such as 'outage:every=10s,lasts=1s' joined by `;`, of one link"
                       " with its name in front ('host3:sine:...'), or a file; see"
                       " `thinpipe net play`",
               .repeatable = true},
              topology_option(),
              {.name = "ranks",
               .letter = 'n',
               .value_name = "N",
               .type = Type::kText,
               .default_value = "4",
               .help = "emulated hosts; 2|4|8 measures several"},
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
              {.name = "repeats",
               .value_name = "N",
               .type = Type::kInteger,
               .default_value = "1",
               .help = "how often each point is measured, in random order",
               .minimum = 1,
               .maximum = 1000},
              {.name = "pattern",
               .value_name = "NAME",
               .type = Type::kChoice,
               .default_value = "ring",
               .help = "how payloads are exchanged: our pipelined rings, or Open MPI's collectives",
               .choices = {"ring", "openmpi"}},
              {.name = "compute-scale",
               .value_name = "X",
               .type = Type::kReal,
               .default_value = "1",
               .help = "times the captured compute time; 0 leaves it out",
               .minimum = 0,
               .maximum = 1000},
              time_scale_option(),
              threads_option("each rank's encode and decode"),
              simd_option(),
              {.name = "check-every",
               .value_name = "N",
               .type = Type::kInteger,
               .default_value = "1",
               .help = "the aggregate is held against a reference in every N-th step; 0 never",
               .minimum = 0,
               .maximum = 1e6},
              {.name = "patience",
               .value_name = "S",
               .type = Type::kReal,
               .default_value = "30",
               .help = "a point fails when a step takes S seconds more than ten times what a dense"
                       " one should on its link, a schedule's outages included",
               .minimum = 0.1,
               .maximum = 1e6},
              {.name = "share-machine",
               .help = "do not call points invalid because another run measured on this machine at"
                       " the same time"},
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
              {.name = "no-baseline", .help = "do not add the compressor `none`"},
              {.name = "resume", .help = "go on with the records in OUT, skipping what is there"},
          },
      .examples =
          {
              {.purpose = "Three compressors on three rates, 4 ranks",
               .command = "thinpipe run --trace trace --out out -c 'topk:ratio=0.1|0.01' -c 3lc"},
              {.purpose = "A link faster than this machine, in slow motion",
               .command = "thinpipe run --trace trace --out out --link rate=25gbit --time-scale"
                          " auto"},
              {.purpose = "Go on after an interruption",
               .command = "thinpipe run --trace trace --out out -c 'topk:ratio=0.1|0.01' -c 3lc"
                          " --resume"},
          },
      .run = run_sweep_of,
  };
  for (OptionInfo& option : hosts_options()) verb.options.push_back(std::move(option));
  return verb;
}

}  // namespace thinpipe
