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
#include "harness/commands/shared_options.h"
#include "harness/commands/sweep_options.h"
#include "harness/commands/verbs.h"
#include "harness/files/open_trace.h"
#include "harness/hosts/hosts.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "harness/plan/checks.h"
#include "harness/plan/plan.h"
#include "harness/sweep/sweep.h"
#include "netem/real_nic/nic.h"
#include "reports/page/table.h"
#include "reports/record/reader.h"
#include "reports/run/page.h"
#include "reports/summary/time_scale.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

constexpr int kMaxRanks = 250;            // above the capacity of one machine
constexpr int kMaxSimulatedRanks = 4096;  // 1024 take minutes a step; more were not measured

// Returns the options for real machines.
std::vector<OptionInfo> hosts_options() {
  return {
      file_option("hosts", "FILE", "",
                  "run on real machines, one rank on each: a hostfile, or `slurm` for the current "
                  "allocation"),
      text_option("agent", "COMMAND", "",
                  "launch command to use instead of ssh; a host and a command are appended to it"),
      text_option("mpi-iface", "IFACE", "",
                  "names or CIDRs, separated by commas, of the interfaces for MPI; by default that "
                  "of --shape"),
      text_option("shape", "IFACE", "",
                  "throttle this interface to --link on every host, and always restore it "
                  "afterwards"),
      {.name = "shape-anyway",
       .help = "throttle even an interface of the default route or of the control connection"},
      text_option("shape-prefix", "WORDS", "",
                  "prefix of the program that throttles, which needs CAP_NET_ADMIN, such as `sudo "
                  "-n`"),
      real_option("lease", "S", "15", {1, 3600},
                  "lease of a throttled interface, in seconds: a host that does not hear from this "
                  "machine for so long restores its interface"),
  };
}

// Returns the values of the options for real machines; nothing without --hosts.
// @throws InputError for a bad hostfile, for a missing Slurm allocation, and for an option that is
// given without the option on which it depends
std::optional<HostsOptions> hosts_of(const Arguments& arguments) {
  if (!arguments.given("hosts")) {
    for (const char* name :
         {"agent", "mpi-iface", "shape", "shape-anyway", "shape-prefix", "lease"})
      if (arguments.given(name))
        throw InputError(fmt::format("--{} applies to real machines and needs --hosts", name));
    return std::nullopt;
  }
  HostsOptions hosts;
  const std::string source = arguments.text("hosts");
  hosts.slurm = source == "slurm";
  hosts.names = hosts.slurm ? slurm_nodes() : read_hostfile(source);
  hosts.agent = arguments.text("agent");
  hosts.mpi_interface = arguments.text("mpi-iface");
  hosts.shape = arguments.text("shape");
  hosts.shape_anyway = arguments.flag("shape-anyway");
  hosts.shape_prefix = arguments.text("shape-prefix");
  hosts.lease = arguments.real("lease");
  if (arguments.given("share-machine"))
    throw InputError(
        "--share-machine applies to emulated hosts and cannot be used with --hosts: nothing looks "
        "for other runs on real machines");
  if (hosts.slurm && !hosts.agent.empty())
    throw InputError("--agent cannot be used with --hosts slurm, which starts ranks by srun");
  for (const char* name : {"shape-anyway", "shape-prefix", "lease"})
    if (arguments.given(name) && hosts.shape.empty())
      throw InputError(fmt::format("--{} applies to throttled interfaces and needs --shape", name));
  return hosts;
}

// Checks that the sweep can run on the machines of --hosts. `link_given` and `schedule_given` tell
// whether the user gave these options; they are false for default values. @throws InputError
void check_hosts(const HostsOptions& hosts, const SweepOptions& options, bool link_given,
                 bool schedule_given) {
  const int ranks = *std::max_element(options.ranks.begin(), options.ranks.end());
  const int most = host_counts(options).back();
  if (most > static_cast<int>(hosts.names.size()))
    throw InputError(fmt::format(
        "--ranks {}{}: expected at most {}, one for each machine of --hosts", ranks,
        most > ranks ? fmt::format(" and {} servers", most - ranks) : "", hosts.names.size()));
  if (!options.topology.is_star())
    throw InputError(
        "--topology applies to emulated networks; on real machines each host's own interface is "
        "throttled");
  if (schedule_given)
    throw InputError("--schedule applies to emulated hosts and cannot be used with --hosts");
  for (const LinkSpec& link : options.links)
    if (const std::string reason = why_not_on_a_nic(link); !hosts.shape.empty() && !reason.empty())
      throw InputError(fmt::format("link '{}': {}", link.to_string(), reason));
  if (hosts.shape.empty() && (!link_given || options.links.size() != 1))
    throw InputError(
        "--hosts without --shape does not change the network: describe it by one --link (such as "
        "rate=10gbit), because reports plot results over rates");
}

OptionInfo compute_option() {
  return choice_option("compute", "HOW", "wait", {"wait", "work"},
                       "compute phases only wait for the captured time, as if a GPU computed "
                       "(wait), or use as much CPU time, as in a job whose ranks share this "
                       "machine's CPUs (work)");
}

OptionInfo shard_option() {
  return text_option("shard", "K/N", "",
                     "measure shard K of N of the sweep's points, such as 1/4; `thinpipe merge` "
                     "merges the records");
}

// "2/4"
void set_shard(const std::string& text, SweepOptions& options) {
  const std::size_t slash = text.find('/');
  const auto number = [&](std::string_view part) { return parse_number<int>(part, 1).value_or(0); };
  const std::string_view whole = text;
  options.shard = slash == std::string::npos ? 0 : number(whole.substr(0, slash));
  options.shards = slash == std::string::npos ? 0 : number(whole.substr(slash + 1));
  if (options.shard < 1 || options.shard > options.shards)
    throw InputError("--shard: expected K/N with 1 <= K <= N, such as 1/4, found " +
                     in_quotes(text));
}

// Prints whether points that were measured at several time scales agree.
void print_agreement(const std::filesystem::path& folder) {
  for (const ScaleAgreement& agreement : compare_time_scales(read_run_records(folder)))
    print_message(for_stream(STDERR_FILENO, agreement_sentence(agreement)));
}

// Returns a table for each group of comparable points, and a summary in a few sentences.
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
  sentences.push_back("`thinpipe report " + folder.string() + "` shows intervals and figures.");
  for (const std::string& sentence : sentences) text += wrap(sentence, 0) + "\n";
  return text;
}

void print_ending(const std::filesystem::path& folder) {
  const Records records = read_run_records(folder);
  if (records.points.empty()) return;  // of a shard
  try {
    const Summary summary = summarize(records);
    for (const std::string& line : break_even_lines(summary))
      print_message(for_stream(STDERR_FILENO, line));
    // For an interactive user only; scripts read the records.
    if (columns_of_terminal(STDOUT_FILENO) > 0) write_text(ending(summary, folder));
  } catch (const InputError&) {
    // The records have several time scales; `thinpipe report` needs one.
  }
}

OptionInfo engine_option() {
  return choice_option("engine", "NAME", kEmulationEngine, {kEmulationEngine, kSimGridEngine},
                       "carry payloads over emulated links between real ranks (emulation), or "
                       "simulate ranks and links with SimGrid, for more ranks than this machine "
                       "can run (simgrid; docs/simulation.md)");
}

// Returns the options that apply to simulated ranks only.
std::vector<OptionInfo> simulated_machine_options() {
  std::vector<OptionInfo> options = machine_model_options();
  for (OptionInfo& option : options) option.help = "with --engine simgrid: " + option.help;
  return options;
}

Action prepare_run(const Arguments& arguments) {
  const bool simulated = arguments.text("engine") == kSimGridEngine;
  SweepOptions options =
      sweep_options_of(arguments, hosts_of(arguments), simulated ? kMaxSimulatedRanks : kMaxRanks);
  options.simulated = simulated;
  for (const char* name : {"message-time", "cores"})
    if (!simulated && arguments.given(name))
      throw InputError(fmt::format("--{} describes simulated ranks and needs --engine {}", name,
                                   kSimGridEngine));
  for (const char* name : {"check-every", "timeout", "share-machine"})
    if (simulated && arguments.given(name))
      throw InputError(
          fmt::format("--{} has no effect on simulated ranks (--engine {})", name, kSimGridEngine));
  options.message_time = given_message_time(arguments);
  options.cores = arguments.real("cores");
  options.trace = arguments.text("trace");
  options.warmup = static_cast<std::uint64_t>(arguments.integer("warmup"));
  options.out = arguments.text("out");
  options.device = arguments.text("device");
  options.compute_works = arguments.text("compute") == "work";
  if (options.compute_works && options.device != kDeviceCpu)
    throw InputError("--compute work needs --device cpu, because a GPU computes beside the CPUs");
  if (options.compute_works && options.threads > 1)
    throw InputError(
        "--compute work needs --threads 1, because CPU times of several threads include the "
        "compute");
  if (options.compute_works && options.time_scales != std::vector<double>{1})
    throw InputError(
        "--compute work needs --time-scale 1: this machine's CPUs cannot be slowed down");
  if (arguments.given("shard")) set_shard(arguments.text("shard"), options);
  if (options.hosts)
    check_hosts(*options.hosts, options, arguments.given("link"), arguments.given("schedule"));
  check_schedules(options);
  check_trace_suffices(options);
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
          "Starts one MPI rank on each emulated host and replays the trace for every combination "
          "of compressor, link and number of ranks. In each step, a rank waits for the captured "
          "compute time, compresses its gradients, exchanges the payloads over the throttled links "
          "and decodes the received payloads. Every point is checked against a reference and "
          "appended to OUT/records.jsonl; `thinpipe report OUT` draws the results.\n\n"
          "The baselines are measured too: `none` (fp32) and `bf16`, which sums in 16 bits "
          "(--baseline, --no-baseline). Ranks beyond those in the trace replay a recorded "
          "rank's gradients of later steps. Needs no root privileges: the network is in namespaces "
          "that end with the command, however it ends.\n\n"
          "With --hosts, the ranks run on real machines, one on each. The network of these "
          "machines is throttled only if --shape names an interface (docs/real-hosts.md).",
      .options = joined({{required(sweep_trace_option()), sweep_out_option()},
                         sweep_axis_options(),
                         sweep_step_options(),
                         {integer_option("repeats", "N", "1", {1, 1000},
                                         "measurements of each point, in random order")},
                         sweep_replay_options(),
                         {compute_option(), sweep_device_option(), engine_option()},
                         simulated_machine_options(),
                         sweep_checking_options("1"),
                         sweep_value_options(),
                         {sweep_resume_option(), shard_option()},
                         hosts_options()}),
      .examples =
          {{"Three compressors at three rates with 4 ranks",
            "thinpipe run --trace trace --out out -c 'topk:ratio=0.1|0.01' -c 3lc"},
           {"A link faster than this machine, by time dilation",
            "thinpipe run --trace trace --out out --link rate=25gbit --time-scale auto"},
           {"More ranks than a machine can run, simulated with SimGrid",
            "thinpipe run --trace synthetic:model=resnet50 --out simulated --engine simgrid "
            "--ranks '16|64|256' --link rate=10gbit"},
           {"Continue after an interruption",
            "thinpipe run --trace trace --out out -c 'topk:ratio=0.1|0.01' -c 3lc --resume"}},
      .groups = sweep_groups(),
      .prepare = prepare_run};
}

}  // namespace thinpipe
