// `thinpipe run`: replays a trace through compressors over throttled links.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/visible.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/hosts/hosts.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "harness/plan/checks.h"
#include "harness/plan/plan.h"
#include "harness/sweep/sweep.h"
#include "netem/real_nic/card.h"
#include "reports/page/table.h"
#include "reports/record/reader.h"
#include "reports/run/page.h"
#include "reports/summary/time_scale.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

constexpr int kMostRanks = 250;  // more than a machine emulates

// Options of real machines.
std::vector<OptionInfo> hosts_options() {
  return {
      {.name = "hosts",
       .value_name = "FILE",
       .type = Type::kFile,
       .help = "run on these machines, one rank on each: a hostfile, or `slurm` for the allocation "
               "this runs in"},
      {.name = "agent",
       .value_name = "COMMAND",
       .type = Type::kText,
       .help = "what is put before a host and a command to run it there, instead of ssh"},
      {.name = "mpi-iface",
       .value_name = "IFACE",
       .type = Type::kText,
       .help = "names or CIDRs, with commas, of the interfaces that ranks exchange over; that of "
               "--shape by default"},
      {.name = "shape",
       .value_name = "IFACE",
       .type = Type::kText,
       .help = "throttle this interface on every host to --link, and give it back afterwards, "
               "whatever happens"},
      {.name = "shape-anyway",
       .help = "even if it carries the default route or the connection that controls the host"},
      {.name = "shape-prefix",
       .value_name = "WORDS",
       .type = Type::kText,
       .help = "put before the program that throttles, which needs CAP_NET_ADMIN: `sudo -n`"},
      {.name = "lease",
       .value_name = "S",
       .type = Type::kReal,
       .default_value = "15",
       .help = "seconds without a word from here after which a host gives its interface back",
       .minimum = 1,
       .maximum = 3600},
  };
}

// Values of these options; nothing without --hosts. @throws InputError for a bad hostfile, no
// allocation, and options that only make sense together.
std::optional<HostsOptions> hosts_of(const Arguments& arguments) {
  if (!arguments.given("hosts")) {
    for (const char* name :
         {"agent", "mpi-iface", "shape", "shape-anyway", "shape-prefix", "lease"})
      if (arguments.given(name))
        throw InputError(fmt::format("--{} is for real machines: it needs --hosts", name));
    return std::nullopt;
  }
  HostsOptions hosts;
  const std::string source = arguments.text("hosts");
  hosts.slurm = source == "slurm";
  hosts.names = hosts.slurm ? slurm_nodes() : read_hostfile(source);
  const auto optional_text = [&](const char* name) {
    return arguments.given(name) ? arguments.text(name) : std::string();
  };
  hosts.agent = optional_text("agent");
  hosts.mpi_interface = optional_text("mpi-iface");
  hosts.shape = optional_text("shape");
  hosts.shape_anyway = arguments.flag("shape-anyway");
  hosts.shape_prefix = optional_text("shape-prefix");
  hosts.lease = arguments.real("lease");
  if (hosts.slurm && !hosts.agent.empty())
    throw InputError("--agent has no use with --hosts slurm: srun starts what is needed");
  for (const char* name : {"shape-anyway", "shape-prefix", "lease"})
    if (arguments.given(name) && hosts.shape.empty())
      throw InputError(fmt::format("--{} says how to throttle: it needs --shape", name));
  return hosts;
}

// Whether the run fits the machines. `link_given`, `schedule_given`: by the user, not by default.
// @throws InputError
void check_hosts(const HostsOptions& hosts, const SweepOptions& options, bool link_given,
                 bool schedule_given) {
  const int ranks = *std::max_element(options.ranks.begin(), options.ranks.end());
  const int most = host_counts(options).back();
  if (most > static_cast<int>(hosts.names.size()))
    throw InputError(fmt::format(
        "--ranks {}{}: --hosts names {} machines, and a machine gets one rank", ranks,
        most > ranks ? fmt::format(" and {} servers", most - ranks) : "", hosts.names.size()));
  if (!options.topology.is_star())
    throw InputError(
        "--topology is of emulated networks; on real machines each host's own interface is "
        "throttled");
  if (schedule_given)
    throw InputError("--schedule is played on emulated hosts only, not with --hosts");
  for (const LinkSpec& link : options.links)
    if (const std::string reason = why_not_on_a_card(link); !hosts.shape.empty() && !reason.empty())
      throw InputError(fmt::format("link '{}': {}", link.to_string(), reason));
  if (hosts.shape.empty() && (!link_given || options.links.size() != 1))
    throw InputError(
        "--hosts without --shape leaves the network as it is: say with one --link what it is (such "
        "as rate=10gbit), for figures are drawn against it");
}

OptionInfo repeats_option() {
  return {.name = "repeats",
          .value_name = "N",
          .type = Type::kInteger,
          .default_value = "1",
          .help = "how often each point is measured, in random order",
          .minimum = 1,
          .maximum = 1000};
}

OptionInfo shard_option() {
  return {.name = "shard",
          .value_name = "K/N",
          .type = Type::kText,
          .help =
              "measure part K of N of the sweep's points, as 1/4; `thinpipe merge` puts parts that "
              "were measured alike together"};
}

// "2/4"
void set_shard(const std::string& text, SweepOptions& options) {
  const std::size_t slash = text.find('/');
  const auto number = [&](std::string_view part) { return parse_number<int>(part, 1).value_or(0); };
  const std::string_view whole = text;
  options.shard = slash == std::string::npos ? 0 : number(whole.substr(0, slash));
  options.shards = slash == std::string::npos ? 0 : number(whole.substr(slash + 1));
  if (options.shard < 1 || options.shard > options.shards)
    throw InputError("--shard: expected K/N with 1 <= K <= N, as 1/4, found " + in_quotes(text));
}

// Whether points that were measured at several time scales came out the same.
void print_agreement(const std::filesystem::path& folder) {
  for (const ScaleAgreement& agreement : compare_time_scales(read_run_records(folder)))
    print_message(agreement_sentence(agreement));
}

// A table for each group of points that can be compared, and what it says in a few sentences.
std::string ending(const Summary& summary, const std::filesystem::path& folder) {
  std::string text;
  for (const Group& group : summary.groups) {
    if (summary.groups.size() > 1) text += wrap(group.title, 0) + "\n";
    text += plain_text(overview_table(group)) + "\n";
  }
  std::vector<std::string> sentences;
  if (summary.groups.size() == 1) {
    sentences.push_back(winners_sentence(summary.groups[0]));
    if (std::string equal = equal_error_sentence(summary.groups[0]); !equal.empty())
      sentences.push_back(std::move(equal));
  }
  sentences.push_back(trust_sentence(summary));
  sentences.push_back("`thinpipe report " + folder.string() + "` has intervals and figures.");
  for (const std::string& sentence : sentences) text += wrap(sentence, 0) + "\n";
  return text;
}

void print_ending(const std::filesystem::path& folder) {
  const Records records = read_run_records(folder);
  try {
    const Summary summary = summarize(records);
    for (const std::string& line : break_even_lines(summary)) print_message(line);
    // For whoever sits there; scripts read the records.
    if (columns_of_terminal(STDOUT_FILENO) > 0) write_text(ending(summary, folder));
  } catch (const InputError&) {
    // Records of several time scales: `thinpipe report` takes one.
  }
}

Action prepare_run(const Arguments& arguments) {
  SweepOptions options = sweep_options_of(arguments, hosts_of(arguments), kMostRanks);
  options.trace = arguments.text("trace");
  options.warmup = static_cast<std::uint64_t>(arguments.integer("warmup"));
  options.out = arguments.text("out");
  options.device = arguments.text("device");
  if (arguments.given("shard")) set_shard(arguments.text("shard"), options);
  if (options.hosts)
    check_hosts(*options.hosts, options, arguments.given("link"), arguments.given("schedule"));
  check_schedules(options);
  options.repeats = static_cast<int>(arguments.integer("repeats"));
  set_sweep_checks(arguments, options);
  options.command = arguments.command_line();
  const auto trace = std::make_shared<const Trace>(open_trace(options.trace));
  check_sweep(options, *trace);
  return [options, trace] {
    const int code = run_sweep(options, *trace);
    if (options.time_scales.size() > 1) print_agreement(options.out);
    if (code == kExitGood || code == kExitFailed) print_ending(options.out);
    return code;
  };
}

}  // namespace

Verb run_verb() {
  return {
      .name = "run",
      .summary = "Replay a trace through compressors over throttled links",
      .description =
          "Starts one MPI rank on each emulated host, and for every combination of compressor, "
          "link and number of ranks replays the trace: each rank waits the captured compute time, "
          "compresses its gradients, exchanges the payloads over the throttled links and decodes "
          "what arrived. Every point is checked against a reference and appended to "
          "OUT/records.jsonl when it ends; `thinpipe report OUT` draws them.\n\n"
          "What compressors are held against is always measured too: `none`, uncompressed, and "
          "`bf16`, summed in 16 bits (--baseline). A rank beyond those in the "
          "trace replays one of them some steps later. Needs no root: the network lives in "
          "namespaces that end with the command, however it ends.\n\n"
          "With --hosts the ranks run on machines of yours instead, one on each; nothing is "
          "throttled there unless --shape names an interface (docs/real-hosts.md).",
      .options = joined({{sweep_trace_option(), sweep_out_option()},
                         sweep_axis_options(),
                         sweep_step_options(),
                         {repeats_option()},
                         sweep_replay_options(),
                         {sweep_device_option()},
                         sweep_checking_options("1"),
                         sweep_value_options(),
                         {sweep_resume_option(), shard_option()},
                         hosts_options()}),
      .examples =
          {
              {.purpose = "Three compressors on three rates, 4 ranks",
               .command = "thinpipe run --trace trace --out out -c 'topk:ratio=0.1|0.01' -c 3lc"},
              {.purpose = "A link faster than this machine, in slow motion",
               .command =
                   "thinpipe run --trace trace --out out --link rate=25gbit --time-scale auto"},
              {.purpose = "Go on after an interruption",
               .command =
                   "thinpipe run --trace trace --out out -c 'topk:ratio=0.1|0.01' -c 3lc --resume"},
          },
      .prepare = prepare_run,
  };
}

}  // namespace thinpipe
