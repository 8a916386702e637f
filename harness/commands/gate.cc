// `thinpipe gate`: fails when something became slower, larger or worse, and says so in one line.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "base/programs.h"
#include "base/visible.h"
#include "harness/commands/gate_launcher.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "netem/sandbox.h"
#include "reports/gate/gate.h"
#include "reports/gate/history.h"
#include "reports/gate/output.h"
#include "reports/record/reader.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;
namespace fs = std::filesystem;

GatePolicy policy_of(const Arguments& arguments) {
  GatePolicy policy =
      arguments.given("policy") ? read_policy(arguments.text("policy")) : GatePolicy();
  if (arguments.given("margin"))
    policy.margin = policy.stored_margin = arguments.real("margin") / 100;
  if (arguments.given("pairs")) policy.pairs = static_cast<int>(arguments.integer("pairs"));
  if (arguments.given("looks")) policy.looks = static_cast<int>(arguments.integer("looks"));
  return policy;
}

Times times_of(const Arguments& arguments) {
  const std::string& text = arguments.text("times");
  return text == "all" ? Times::kAll : text == "none" ? Times::kNone : Times::kRatios;
}

fs::path this_program() { return fs::read_symlink("/proc/self/exe"); }

// Maximum over all launches.
int retakes_of(const GatePolicy& policy) { return policy.pairs / 2; }

// Older and newer in turn, which of them first by the toss of a coin: slice by slice where both
// know how, else launch by launch.
GateOutcome gate_builds(const Arguments& arguments, const GatePolicy& policy,
                        const fs::path& scratch) {
  const fs::path older = fs::absolute(arguments.text("baseline-exe"));
  if (!is_executable(older))
    throw InputError("--baseline-exe: " + older.string() + " is no program that can be started");
  Launcher launcher(arguments.positionals("COMMAND"), scratch);
  std::mt19937_64 generator(static_cast<std::uint64_t>(arguments.integer("seed")));
  PairedGate gate(policy);
  Measured before, after;
  Progress progress(2.0 * policy.most_pairs());
  const bool turns = launcher.takes_turns(older) && launcher.takes_turns(this_program());
  before.in_turns = after.in_turns = turns;
  Undisturbed undisturbed(launcher, retakes_of(policy));
  GateOutcome outcome;
  for (int look = 0; look < policy.looks; ++look) {
    const std::size_t pairs = static_cast<std::size_t>(policy.pairs) << look;
    while (after.launches < pairs) {
      progress.describe(fmt::format("pair {} of {}", after.launches + 1, pairs));
      const auto [one, other] = undisturbed.pair(older, this_program(), turns, generator);
      append_launches(before, one);
      append_launches(after, other);
      progress.advance(2);
    }
    outcome = gate.look(before, after);
    if (!outcome.failed.empty() || !outcome.missing.empty() ||
        outcome.count(Verdict::kUnclear) == 0)
      break;
  }
  return outcome;
}

Measured launches_of(const Arguments& arguments, const GatePolicy& policy, const fs::path& scratch,
                     const fs::path& keep) {
  Launcher launcher(arguments.positionals("COMMAND"), scratch);
  Undisturbed undisturbed(launcher, retakes_of(policy));
  const int launches = policy.pairs;
  Measured measured;
  measured.file = "this build";
  Progress progress(launches);
  if (!keep.empty()) fs::create_directories(keep);
  for (int i = 0; i < launches; ++i) {
    progress.describe(fmt::format("launch {} of {}", i + 1, launches));
    append_launches(measured, undisturbed.launch(this_program()));
    progress.advance(1);
    if (keep.empty()) continue;
    append_output(keep / kRecordFileName,
                  read_input(launcher.last_records(), "records", kMaxRecordBytes));
  }
  return measured;
}

GateOutcome gate_history(const Arguments& arguments, const GatePolicy& policy) {
  const History history = read_history(arguments.text("history"));
  for (const std::string& note : history.notes) print_message(note);
  return judge_history(history, policy);
}

int save(const Arguments& arguments, const GatePolicy& policy, const fs::path& scratch) {
  const fs::path folder = arguments.text("save");
  if (fs::exists(folder / kRecordFileName))
    throw InputError((folder / kRecordFileName).string() +
                     ": there are records already; remove them or choose another folder");
  const Measured measured = launches_of(arguments, policy, scratch, folder);
  if (!measured.not_good.empty()) {
    const auto& [id, why] = *measured.not_good.begin();
    throw RunError(fmt::format("{} of the points cannot be a baseline; {} was {}",
                               measured.not_good.size(), id, why));
  }
  write_stdout((folder / kRecordFileName).string() + "\n");
  return kExitGood;
}

void write_or_print(const std::string& name, const std::string& text) {
  if (name == "-") return write_data(text);
  write_output(name, text);
}

// Writes for GitHub's runners: one annotation on standard output, the summary in a file.
void tell_github(const GateOutcome& outcome) {
  write_stdout(gate_annotation(outcome));
  if (const char* summary = std::getenv("GITHUB_STEP_SUMMARY"); summary != nullptr && *summary)
    append_output(summary, gate_markdown(outcome));
}

int tell(const Arguments& arguments, const GateOutcome& outcome) {
  const bool to_stdout = arguments.text("json") == "-" || arguments.text("markdown") == "-" ||
                         arguments.text("junit") == "-";
  if (!to_stdout) write_text(gate_text(outcome, arguments.flag("all")));
  if (arguments.given("markdown"))
    write_or_print(arguments.text("markdown"), gate_markdown(outcome));
  if (arguments.given("junit")) write_or_print(arguments.text("junit"), gate_junit(outcome));
  if (arguments.given("json"))
    write_or_print(arguments.text("json"), gate_json(outcome).dump(2) + "\n");
  if (arguments.flag("github")) tell_github(outcome);
  return exit_code(outcome, arguments.flag("strict"));
}

void check_modes(const Arguments& arguments) {
  int modes = 0;
  for (const char* mode : {"baseline", "baseline-exe", "history", "save"})
    modes += arguments.given(mode);
  if (modes != 1)
    throw InputError("expected one of --baseline, --baseline-exe, --history and --save; found " +
                     std::to_string(modes));
  const bool has_command = !arguments.positionals("COMMAND").empty();
  if (arguments.given("history")) {
    if (has_command)
      throw InputError(
          "--history judges records that are there; there is nothing to launch after --");
    return;
  }
  if (arguments.given("measured")) {
    if (!arguments.given("baseline")) throw InputError("--measured goes with --baseline");
    if (has_command)
      throw InputError("--measured says what was measured; there is nothing to launch after --");
  } else if (!has_command) {
    throw InputError("expected what to measure after --, as `-- bench -c topk`");
  }
}

int gate(const Arguments& arguments, const GatePolicy& policy) {
  if (arguments.given("history")) return tell(arguments, gate_history(arguments, policy));
  // Read here, where a signal still ends the program, also while it waits for a pipe's writer.
  std::optional<Measured> baseline;
  if (arguments.given("baseline")) baseline = read_measured(arguments.text("baseline"));
  const auto judge = [&](const Measured& measured) {
    return tell(arguments, judge_stored(*baseline, measured, policy, times_of(arguments)));
  };
  if (arguments.given("measured")) return judge(read_measured(arguments.text("measured")));
  return run_outside_sandbox([&](const Sandbox& place) {
    try {
      if (arguments.given("save")) return save(arguments, policy, place.scratch);
      if (baseline) return judge(launches_of(arguments, policy, place.scratch, {}));
      return tell(arguments, gate_builds(arguments, policy, place.scratch));
    } catch (const RunError& error) {
      if (!stop_requested()) throw;
      print_message(std::string("thinpipe gate: ") + error.what());
      return 128 + stop_signal();
    }
  });
}

Action prepare_gate(const Arguments& arguments) {
  check_modes(arguments);
  return [&arguments, policy = policy_of(arguments)] { return gate(arguments, policy); };
}

std::vector<OptionInfo> gate_options() {
  return {
      {.name = "baseline-exe",
       .value_name = "FILE",
       .type = Type::kFile,
       .help = "the `thinpipe` of an older build: both run in turn, pair by pair"},
      {.name = "baseline",
       .value_name = "DIR",
       .type = Type::kFolder,
       .help = "records that were kept before (--save)"},
      {.name = "measured",
       .value_name = "DIR",
       .type = Type::kFolder,
       .help = "records to hold against --baseline, instead of launching anything"},
      {.name = "history",
       .value_name = "DIR",
       .type = Type::kFolder,
       .help = "hold the newest launch in a folder of record files against those before it"},
      {.name = "save",
       .value_name = "DIR",
       .type = Type::kFolder,
       .help = "measure this build so often and keep the records as a baseline"},
      {.name = "policy",
       .value_name = "FILE",
       .type = Type::kFile,
       .help = "margins by metric and point (docs/gate.md)"},
      {.name = "margin",
       .value_name = "PERCENT",
       .type = Type::kReal,
       .help = "what a time may change by; else the policy's, 2 for pairs and 10 against a stored "
               "baseline",
       .minimum = 0.01,
       .maximum = 99},
      {.name = "pairs",
       .value_name = "N",
       .type = Type::kInteger,
       .help = "pairs before the first look, or launches against a stored baseline; else the "
               "policy's, 10",
       .minimum = 4,
       .maximum = 1000},
      {.name = "looks",
       .value_name = "N",
       .type = Type::kInteger,
       .help = "while something is unclear, each after twice as many pairs; else the policy's, 3",
       .minimum = 1,
       .maximum = 6},
      {.name = "times",
       .value_name = "WHICH",
       .type = Type::kChoice,
       .default_value = "ratios",
       .help = "held against a stored baseline: those over something that the same launch "
               "measured, also seconds (of one machine), or none",
       .choices = {"ratios", "all", "none"}},
      {.name = "strict", .help = "exit with 3 when something is unclear"},
      {.name = "all", .help = "also show what is the same"},
      {.name = "seed",
       .value_name = "N",
       .type = Type::kInteger,
       .default_value = "1",
       .help = "of which build of a pair runs first",
       .minimum = 0,
       .maximum = 9e15},
      {.name = "markdown",
       .value_name = "FILE",
       .type = Type::kFile,
       .help = "write a job's summary; - for standard output"},
      {.name = "junit",
       .value_name = "FILE",
       .type = Type::kFile,
       .help = "write JUnit's XML; - for standard output"},
      {.name = "json",
       .value_name = "FILE",
       .type = Type::kFile,
       .help = "write all of it for programs; - for standard output"},
      {.name = "github",
       .help = "print one annotation, and add the summary to $GITHUB_STEP_SUMMARY"}};
}

}  // namespace

Verb gate_verb() {
  return {
      .name = "gate",
      .summary = "Fail when something became slower, larger or worse",
      .description =
          "Measures what stands after -- and holds it against an older build (--baseline-exe) or "
          "kept records (--baseline). Bytes and passes must be equal, what compressors keep must "
          "be within bounds. Times of two builds are taken in turn, each in a process of its own: "
          "of the logarithms of their ratios the Hodges-Lehmann estimate and the interval of the "
          "signed-rank test. Worse is what lies beyond the margin for sure; where that cannot be "
          "told, twice as many pairs are run, and then it is a warning.\n\n"
          "Exits with 0 when nothing is worse, 1 when something is, 3 when something is unclear "
          "(--strict), 4 when a point failed, and 5 when something could not be compared: names "
          "that only one side has, another machine, nothing at all.",
      .options = gate_options(),
      .positionals = {{.name = "COMMAND",
                       .help = "after --: `bench`, `quality` or `run` with its options",
                       .required = false,
                       .repeatable = true}},
      .examples = {{"This build against an older one",
                    "thinpipe gate --baseline-exe old/bin/thinpipe -- bench -c topk -c 3lc"},
                   {"Keep a baseline, and hold later builds against it",
                    "thinpipe gate --save baseline -- bench -c topk --size 2.6m"},
                   {"What may not change at all: bytes and what compressors keep",
                    "thinpipe gate --baseline golden --pairs 4 --times none -- quality --trace "
                    "synthetic:model=resnet20,steps=4 -c topk"}},
      .prepare = prepare_gate};
}

}  // namespace thinpipe
