// `thinpipe gate`: fails on regressions in time, size or quality, with a summary in one line.

#include <fmt/format.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <utility>
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
#include "reports/record/reader.h"

namespace thinpipe {
namespace {

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

// Maximum number of repeated launches, in total.
int retakes_of(const GatePolicy& policy) { return policy.pairs / 2; }

// Measures the older and the newer build in pairs of launches, in random order within a pair. If
// both builds support --turns, the two launches of a pair run at the same time and interleave their
// timings. Else one launch follows the other.
GateOutcome gate_builds(const Arguments& arguments, const GatePolicy& policy,
                        const fs::path& scratch) {
  const fs::path older = fs::absolute(arguments.text("baseline-exe"));
  if (!is_executable(older))
    throw InputError("--baseline-exe: " + older.string() + " is not an executable program");
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

// @param records  receives the launches' records, if any
Measured launches_of(const Arguments& arguments, const GatePolicy& policy, const fs::path& scratch,
                     std::string* records) {
  Launcher launcher(arguments.positionals("COMMAND"), scratch);
  Undisturbed undisturbed(launcher, retakes_of(policy));
  const int launches = policy.pairs;
  Measured measured;
  measured.file = "this build";
  Progress progress(launches);
  for (int i = 0; i < launches; ++i) {
    progress.describe(fmt::format("launch {} of {}", i + 1, launches));
    append_launches(measured, undisturbed.launch(this_program()));
    progress.advance(1);
    if (records != nullptr)
      *records += read_input(launcher.last_records(), "records", kMaxRecordBytes);
  }
  return measured;
}

GateOutcome gate_history(const Arguments& arguments, const GatePolicy& policy) {
  const History history = read_history(arguments.text("history"));
  for (const std::string& note : history.notes) print_message(for_stream(STDERR_FILENO, note));
  return judge_history(history, policy);
}

int save(const Arguments& arguments, const GatePolicy& policy, const fs::path& scratch) {
  const fs::path folder = arguments.text("save");
  std::error_code ignored;  // without the folder, the file cannot be opened
  if (fs::exists(folder / kRecordFileName, ignored))
    throw InputError((folder / kRecordFileName).string() +
                     ": there are records already; remove them or choose another folder");
  fs::create_directories(folder, ignored);
  OutputFile file(folder / kRecordFileName);
  std::string records;
  const Measured measured = launches_of(arguments, policy, scratch, &records);
  if (!measured.not_good.empty()) {
    const auto& [id, why] = *measured.not_good.begin();
    throw RunError(fmt::format("{} points cannot serve as a baseline; {} was {}",
                               measured.not_good.size(), id, why));
  }
  file.write(records);
  file.commit();
  write_stdout((folder / kRecordFileName).string() + "\n");
  return kExitGood;
}

// Reports to GitHub: one annotation on standard output, and the summary in a file.
void report_to_github(const GateOutcome& outcome) {
  write_stdout(gate_annotation(outcome));
  if (const char* summary = std::getenv("GITHUB_STEP_SUMMARY"); summary != nullptr && *summary)
    append_output(summary, gate_markdown(outcome));
}

// Files of the outcome, by option. They are opened before the measurement, so that a wrong name
// does not waste minutes.
using OutcomeFiles = std::map<std::string, OutputFile>;

OutcomeFiles open_files(const Arguments& arguments) {
  OutcomeFiles files;
  for (const char* option : {"markdown", "junit", "json"})
    if (arguments.given(option) && !is_stdout(arguments.text(option)))
      files.emplace(option, arguments.text(option));
  return files;
}

int print_outcome(const Arguments& arguments, const GateOutcome& outcome, OutcomeFiles files) {
  const auto write = [&](const char* option, const std::string& text) {
    if (const auto file = files.find(option); file != files.end()) {
      file->second.write(text);
      file->second.commit();
    } else if (arguments.given(option)) {
      write_data(text);
    }
  };
  bool to_stdout = false;
  for (const char* option : {"markdown", "junit", "json"})
    to_stdout = to_stdout || (arguments.given(option) && is_stdout(arguments.text(option)));
  if (!to_stdout) write_text(gate_text(outcome, arguments.flag("all")));
  write("markdown", gate_markdown(outcome));
  write("junit", gate_junit(outcome));
  write("json", gate_json(outcome).dump(2) + "\n");
  if (arguments.flag("github")) report_to_github(outcome);
  return exit_code(outcome, arguments.flag("strict"));
}

// Options that only some ways of comparing use.
struct LimitedOption {
  const char* name;
  std::set<std::string> modes;
};

void check_modes(const Arguments& arguments) {
  std::vector<std::string> modes;
  for (const char* mode : {"baseline", "baseline-exe", "history", "save"})
    if (arguments.given(mode)) modes.emplace_back(mode);
  if (modes.size() != 1)
    throw InputError("expected one of --baseline, --baseline-exe, --history and --save, found " +
                     std::to_string(modes.size()));
  const std::string mode = arguments.given("measured") ? "measured" : modes[0];
  const std::set<std::string> launches = {"baseline", "baseline-exe", "save"};
  const std::set<std::string> judges = {"baseline", "baseline-exe", "measured", "history"};
  // --times is also allowed where a baseline is stored that will be compared with it.
  for (const auto& [name, allowed] :
       {LimitedOption{"times", {"baseline", "measured", "save"}}, LimitedOption{"pairs", launches},
        LimitedOption{"margin", judges}, LimitedOption{"looks", {"baseline-exe"}},
        LimitedOption{"seed", {"baseline-exe"}}, LimitedOption{"json", judges},
        LimitedOption{"markdown", judges}, LimitedOption{"junit", judges},
        LimitedOption{"github", judges}, LimitedOption{"strict", judges},
        LimitedOption{"all", judges}})
    if (arguments.given(name) && !allowed.contains(mode))
      throw InputError(fmt::format("--{} has no effect with --{}", name, mode));
  const bool has_command = !arguments.positionals("COMMAND").empty();
  if (arguments.given("history")) {
    if (has_command)
      throw InputError("--history compares existing records and takes no command after --");
    return;
  }
  if (arguments.given("measured")) {
    if (!arguments.given("baseline")) throw InputError("--measured needs --baseline");
    if (has_command)
      throw InputError("--measured compares existing records and takes no command after --");
  } else if (!has_command) {
    throw InputError("expected a command to measure after --, such as `-- bench -c topk`");
  }
}

int gate(const Arguments& arguments, const GatePolicy& policy) {
  OutcomeFiles files = open_files(arguments);
  const auto print = [&](const GateOutcome& outcome) {
    return print_outcome(arguments, outcome, std::move(files));
  };
  if (arguments.given("history")) return print(gate_history(arguments, policy));
  // The baseline is read before signal handlers are installed. A signal can then end the program
  // even while it waits for the writer of a pipe.
  std::optional<Measured> baseline;
  if (arguments.given("baseline")) baseline = read_measured(arguments.text("baseline"));
  const auto judge = [&](const Measured& measured) {
    return print(judge_stored(*baseline, measured, policy, times_of(arguments)));
  };
  if (arguments.given("measured")) return judge(read_measured(arguments.text("measured")));
  return run_outside_sandbox([&](const Sandbox& sandbox) {
    if (arguments.given("save")) return save(arguments, policy, sandbox.scratch);
    if (baseline) return judge(launches_of(arguments, policy, sandbox.scratch, nullptr));
    return print(gate_builds(arguments, policy, sandbox.scratch));
  });
}

Action prepare_gate(const Arguments& arguments) {
  check_modes(arguments);
  return [&arguments, policy = policy_of(arguments)] { return gate(arguments, policy); };
}

std::vector<OptionInfo> gate_options() {
  return {
      file_option("baseline-exe", "FILE", "",
                  "`thinpipe` of an older build; both builds run in interleaved pairs"),
      folder_option("baseline", "DIR", "", "stored records of an earlier measurement (--save)"),
      folder_option("measured", "DIR", "",
                    "compare these records with --baseline, without launching a measurement"),
      folder_option("history", "DIR", "",
                    "compare the newest launch in a folder of record files with the earlier ones"),
      folder_option("save", "DIR", "",
                    "measure this build (--pairs launches) and store the records as a baseline"),
      file_option("policy", "FILE", "", "margins per metric and point (docs/gate.md)"),
      real_option("margin", "PERCENT", "", {0.01, 99},
                  "allowed change of a time, in percent; by default the policy's: 2 for pairs, 10 "
                  "for a stored baseline"),
      integer_option("pairs", "N", "", {4, 1000},
                     "pairs before the first look at the results, or launches for a stored "
                     "baseline; by default the policy's, 10"),
      integer_option("looks", "N", "", {1, 6},
                     "maximum number of looks at the results, each after twice as many pairs; by "
                     "default the policy's, 3"),
      choice_option("times", "WHICH", "ratios", {"ratios", "all", "none"},
                    "times to compare with a stored baseline: ratios to a reference time of the "
                    "same launch (ratios), also seconds, on the same machine only (all), or no "
                    "times (none)"),
      {.name = "strict", .help = "exit with 3 if a result is unclear"},
      {.name = "all", .help = "also show unchanged metrics"},
      integer_option("seed", "N", "1", {0, 9e15}, "random seed of the order within a pair"),
      file_option("markdown", "FILE", "", "write a job summary in Markdown; - for standard output"),
      file_option("junit", "FILE", "", "write a JUnit XML report; - for standard output"),
      file_option("json", "FILE", "", "write all results as JSON; - for standard output"),
      {.name = "github",
       .help = "print one GitHub Actions annotation, and append the summary to "
               "$GITHUB_STEP_SUMMARY"}};
}

}  // namespace

Verb gate_verb() {
  return {
      .name = "gate",
      .summary = "Fail on regressions in time, size or quality",
      .description =
          "Measures the command after -- and compares it with an older build (--baseline-exe) or "
          "with stored records (--baseline). Bytes and passes over the data must be equal, and "
          "quality must stay within bounds. Two builds are timed in interleaved pairs, each build "
          "in a process of its own. The ratio of their times is the Hodges-Lehmann estimate over "
          "the logarithms, with the confidence interval of the signed-rank test. A metric is worse "
          "if this interval lies entirely beyond the margin. While a result is unclear, the gate "
          "doubles the number of pairs and looks again, up to --looks times. A result that stays "
          "unclear is a warning.\n\n"
          "Exits with 0 if nothing is worse, 1 if something is worse, 3 if a result is unclear "
          "(--strict) and 4 if a point failed. Exits with 5 if something could not be compared: a "
          "metric that only one side has, another machine, or no metric at all.",
      .options = gate_options(),
      .positionals = {{.name = "COMMAND",
                       .help = "after --: `bench`, `quality` or `run` with its options",
                       .required = false,
                       .repeatable = true}},
      .examples = {{"Compare this build with an older one",
                    "thinpipe gate --baseline-exe old/bin/thinpipe -- bench -c topk -c 3lc"},
                   {"Store a baseline for later builds",
                    "thinpipe gate --save baseline -- bench -c topk --size 2.6m"},
                   {"Check exact metrics only: bytes and quality",
                    "thinpipe gate --baseline golden --pairs 4 --times none -- quality --trace "
                    "synthetic:model=resnet20,steps=4 -c topk"}},
      .groups = {{"Builds or records to compare",
                  {"baseline-exe", "baseline", "measured", "history", "save"}},
                 {"Judgement", {"policy", "margin", "times", "strict", "all"}},
                 {"Measurement", {"pairs", "looks", "seed"}},
                 {"Output", {"markdown", "junit", "json", "github"}}},
      .prepare = prepare_gate};
}

}  // namespace thinpipe
