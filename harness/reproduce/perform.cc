// Performs recipes: runs their commands, reads the records, checks the rules, writes the pages.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/input_file.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/visible.h"
#include "harness/machine/programs.h"
#include "harness/reproduce/columns.h"
#include "harness/reproduce/recipe.h"
#include "netem/file_descriptor.h"
#include "netem/sandbox.h"
#include "reports/record/reader.h"
#include "reports/reproduction/reproduction.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kFinished = "finished";

std::string typed(std::vector<std::string> words) {
  words.insert(words.begin(), "thinpipe");
  return shell_quoted(words);
}

bool resumes(const std::string& verb) { return verb == "train" || verb == "run"; }

// Removes the half-done output of a command that cannot resume.
void clear_records(const fs::path& folder) {
  std::error_code ignored;  // the command reports a file that cannot be removed
  for (const char* name : {kRecordFileName, kStatsFileName}) fs::remove(folder / name, ignored);
  fs::remove_all(folder / "trace", ignored);
}

void make_folder(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) throw SystemError("create folder " + folder.string(), failure.value());
}

std::string ending_of(int status) {
  if (WIFSIGNALED(status)) return fmt::format("killed by signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

void spell_out(nlohmann::json& printed) {
  if (!printed.contains("points")) return;
  for (nlohmann::json& point : printed.at("points"))
    if (point.contains("axes") && point.at("axes").contains("compressor"))
      point["axes"]["compressor"] = spelt_out(point["axes"]["compressor"].get<std::string>());
}

void throw_if_stopped() {
  if (stop_requested()) throw RunError("interrupted; the same command continues");
}

// Runs the command in the current folder. Its standard output goes to the file `output` of `place`;
// its standard error is this process's. @returns "" or the failure @throws RunError when
// stop_requested()
std::string run_arm(const std::vector<std::string>& words, const std::string& place) {
  const fs::path folder = place;
  make_folder(folder);
  write_output(folder / "command", typed(words) + "\n");
  if (!resumes(words.at(0))) clear_records(folder);
  const fs::path said = folder / "output";
  const FileDescriptor output(::open(said.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!output.valid()) throw SystemError("open " + said.string());
  throw_if_stopped();
  const int status = wait_for_process(start_process(
      fs::read_symlink("/proc/self/exe"), placed_words(words, place), -1, output.get(), 2));
  throw_if_stopped();
  if (status != 0) return ending_of(status);
  write_output(folder / kFinished, "");
  return "";
}

// Reads the records of the command, with compressors spelt out in full.
ArmRecords read_arm(const RecipeArm& arm, bool quick, const std::string& place) {
  const fs::path folder = place;
  const std::vector<std::string>& words = arm.words(quick);
  ArmRecords read;
  read.label = arm.label;
  read.command = command_of(words, place);
  if (words.at(0) == "predict") {
    read.command += " > " + shell_quoted({place + "/output"});
    constexpr std::uint64_t kMaxBytes = 1 << 30;  // a million predicted points
    nlohmann::json printed = nlohmann::json::parse(
        read_input(folder / "output", "the output of thinpipe predict", kMaxBytes), nullptr,
        /*allow_exceptions=*/false);
    if (printed.is_object()) {
      spell_out(printed);
      read.printed = Document(std::move(printed));
    }
  } else if (fs::is_regular_file(folder / kStatsFileName)) {
    read.stats = find_trace_stats(folder / kStatsFileName);
  } else if (fs::is_regular_file(folder / kRecordFileName)) {
    read.records = read_records(folder);
    for (Point& point : read.records.points)
      point.axes.compressor = spelt_out(point.axes.compressor);
  }
  return read;
}

// Changes the current folder to the folder of all arms. Paths in the arms' commands are relative to
// it, so that commands can be copied from the page.
class InFolder {
 public:
  explicit InFolder(const fs::path& folder) : before_(fs::current_path()) {
    fs::current_path(folder);
  }
  ~InFolder() {
    std::error_code ignored;
    fs::current_path(before_, ignored);
  }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  fs::path before_;
};

std::string time_left(double seconds) {
  if (seconds < 90) return fmt::format("about {:.0f} s left", std::max(seconds, 1.0));
  return fmt::format("about {:.0f} min left", seconds / 60);
}

// Shows the time left, estimated from the arms that have ended. Before the first arm ends, it
// divides the recipe's own estimate equally among the arms.
class RecipeProgress {
 public:
  RecipeProgress(const Recipe& recipe, bool quick, std::size_t arms)
      : name_(recipe.name()),
        all_(arms),
        expected_((quick ? recipe.quick_seconds : 60.0 * recipe.full_minutes) /
                  static_cast<double>(std::max<std::size_t>(arms, 1))) {}

  void begin(std::size_t number, const std::string& label) {
    const double each = timed_ > 0 ? spent_.count() / static_cast<double>(timed_) : expected_;
    print_message(fmt::format("{} {} of {}: {}, {}", name_, number, all_, label,
                              time_left(each * static_cast<double>(all_ - number + 1))));
    began_ = Clock::now();
  }
  void end() {
    spent_ += Clock::now() - began_;
    ++timed_;
  }

 private:
  std::string name_;
  std::size_t all_, timed_ = 0;
  double expected_;
  std::chrono::duration<double> spent_{0};
  Clock::time_point began_;
};

fs::path outcome_file(const std::string& name) { return fs::path(name) / "outcome.json"; }

// Writes the index of the current folder: thinpipe's recipes in their order, then a user's own.
void write_index() {
  std::vector<std::string> names = recipe_names();
  std::set<std::string> others;
  for (const fs::directory_entry& entry : fs::directory_iterator("."))
    others.insert(entry.path().filename().string());
  for (const std::string& name : names) others.erase(name);
  names.insert(names.end(), others.begin(), others.end());
  std::vector<ReproductionOutcome> outcomes;
  for (const std::string& name : names)
    if (const auto one = read_outcome(outcome_file(name))) outcomes.push_back(*one);
  write_output("README.md", reproduction_index(outcomes));
}

ReproductionPlan spelt_out_plan(ReproductionPlan plan) {
  for (ReproductionRow& row : plan.rows)
    if (!row.compressor.empty()) row.compressor = spelt_out(row.compressor);
  return plan;
}

std::vector<ArmRecords> run_arms(const Recipe& recipe, bool quick) {
  std::vector<const RecipeArm*> arms;
  for (const RecipeArm& arm : recipe.arms)
    if (!arm.words(quick).empty()) arms.push_back(&arm);
  for (const RecipeArm* arm : arms)
    refuse_other_command(arm_place(recipe.name(), arm->label), arm->words(quick));
  RecipeProgress progress(recipe, quick, arms.size());
  std::vector<ArmRecords> all;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const std::string place = arm_place(recipe.name(), arms[i]->label);
    std::string failure;
    if (!fs::exists(fs::path(place) / kFinished)) {
      progress.begin(i + 1, arms[i]->label);
      failure = run_arm(arms[i]->words(quick), place);
      progress.end();
    }
    all.push_back(read_arm(*arms[i], quick, place));
    // Trainings that diverged are results. The command that resumes leaves them, and fails only if
    // there are other failures.
    if (!failure.empty() && resumes(arms[i]->words(quick).at(0)) &&
        std::ranges::any_of(all.back().records.points, &Point::diverged)) {
      failure = run_arm(arms[i]->words(quick), place);
      all.back() = read_arm(*arms[i], quick, place);
    }
    all.back().failure = failure;
    if (!failure.empty())
      print_message(fmt::format("{}, {}: {}: {}", recipe.name(), arms[i]->label, failure,
                                all.back().command));
  }
  return all;
}

Reproduction perform(const Recipe& recipe, const fs::path& out, bool quick) {
  make_folder(out);
  const InFolder inside(out);
  Reproduction result = reproduced(spelt_out_plan(recipe.plan), run_arms(recipe, quick), quick);
  const std::string drawing = reproduction_picture(result);
  const std::string picture = drawing.empty() ? "" : recipe.name() + ".svg";
  if (!drawing.empty()) write_output(picture, drawing);
  write_output(recipe.name() + ".md", reproduction_page(result, picture));
  write_outcome(outcome_file(recipe.name()), outcome_of(result));
  write_index();
  return result;
}

}  // namespace

std::vector<std::string> placed_words(const std::vector<std::string>& words,
                                      const std::string& place) {
  std::vector<std::string> placed = words;
  const std::string& verb = words.at(0);
  if (verb == "predict") {
    placed.emplace_back("--json");
  } else if (verb == "capture") {
    placed.insert(placed.end(), {"--out", place + "/trace"});
  } else {
    placed.insert(placed.end(), {"--out", place});
    if (resumes(verb)) placed.emplace_back("--resume");
  }
  return placed;
}

std::string command_of(const std::vector<std::string>& words, const std::string& place) {
  return typed(placed_words(words, place));
}

void refuse_other_command(const fs::path& folder, const std::vector<std::string>& words) {
  constexpr std::uint64_t kMaxBytes = 1 << 20;  // a command line's limit on Linux by default
  std::error_code ignored;
  if (!fs::exists(folder / "command", ignored)) return;
  const std::string before =
      split(read_input(folder / "command", "an arm's command", kMaxBytes), '\n').front();
  if (!before.empty() && before != typed(words))
    throw InputError(folder.string() + " holds the records of another command (" + before +
                     "); choose another --out, or remove it");
}

int perform_all(const std::vector<std::string>& names, const fs::path& out, bool quick,
                const std::function<void(const Reproduction&)>& done) {
  int code = kExitGood;
  for (const std::string& name : names) {
    try {
      const Reproduction result = perform(find_recipe(name), out, quick);
      done(result);
      if (!result.complete()) code = kExitFailed;
    } catch (const InputError& error) {
      print_message(fmt::format("thinpipe reproduce: {}: {}", name, error.what()));
      if (code == kExitGood) code = kExitUsage;
    } catch (const RunError& error) {
      if (stop_requested()) throw;
      print_message(fmt::format("thinpipe reproduce: {}: {}", name, error.what()));
      code = kExitFailed;
    }
  }
  return code;
}

}  // namespace thinpipe
