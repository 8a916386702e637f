#include "harness/reproduce/perform.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/error.h"
#include "base/output_file.h"
#include "base/visible.h"
#include "harness/reproduce/arm.h"
#include "netem/sandbox.h"
#include "reports/reproduction/index.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Arms' paths are relative to the folder of all, so that commands can be copied from the page.
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

// Before anything was timed: the recipe's own figure, shared equally.
class RecipeProgress {
 public:
  RecipeProgress(const Recipe& recipe, bool quick, std::size_t arms)
      : name_(recipe.name()),
        all_(arms),
        expected_((quick ? recipe.quick_seconds : 60.0 * recipe.full_minutes) /
                  static_cast<double>(std::max<std::size_t>(arms, 1))) {}

  void begin(std::size_t number, const std::string& label) {
    const double each = timed_ > 0 ? spent_.count() / static_cast<double>(timed_) : expected_;
    fmt::print(stderr, "{} {} of {}: {}, {}\n", name_, number, all_, label,
               time_left(each * static_cast<double>(all_ - number + 1)));
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

void write_index() {
  std::vector<ReproductionOutcome> outcomes;
  for (const Recipe& recipe : recipes())
    if (const auto one = read_outcome(outcome_file(recipe.name()))) outcomes.push_back(*one);
  write_output("README.md", reproduction_index(outcomes));
}

ReproductionPlan spelt_out_plan(ReproductionPlan plan) {
  for (ReproductionRow& row : plan.rows)
    if (!row.compressor.empty()) row.compressor = spelt_out(row.compressor);
  return plan;
}

std::vector<const RecipeArm*> arms_of(const Recipe& recipe, bool quick) {
  std::vector<const RecipeArm*> arms;
  for (const RecipeArm& arm : recipe.arms)
    if (!arm.words(quick).empty()) arms.push_back(&arm);
  return arms;
}

std::vector<ArmRecords> run_arms(const Recipe& recipe, bool quick) {
  const std::vector<const RecipeArm*> arms = arms_of(recipe, quick);
  for (const RecipeArm* arm : arms)
    refuse_other_command(arm_place(recipe.name(), arm->label), arm->words(quick));
  RecipeProgress progress(recipe, quick, arms.size());
  std::vector<ArmRecords> all;
  for (std::size_t i = 0; i < arms.size(); ++i) {
    const std::string place = arm_place(recipe.name(), arms[i]->label);
    std::string failure;
    if (!is_finished(place)) {
      progress.begin(i + 1, arms[i]->label);
      failure = run_arm(arms[i]->words(quick), place);
      progress.end();
    }
    all.push_back(read_arm(*arms[i], quick, place));
    all.back().failure = failure;
    if (!failure.empty())
      print_message(fmt::format("{}, {}: {}: {}", recipe.name(), arms[i]->label, failure,
                                all.back().command));
  }
  return all;
}

}  // namespace

Reproduction perform(const Recipe& recipe, const fs::path& out, bool quick) {
  fs::create_directories(out);
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
