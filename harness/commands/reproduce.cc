// `thinpipe reproduce`: what the papers found, tried here.
#include <fmt/format.h>
#include <cstdio>
#include <filesystem>

#include "base/error.h"
#include "harness/commands/output.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/reproduce/reproduce.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

std::string list_of_recipes() {
  std::string text;
  for (const Recipe& recipe : recipes())
    text += fmt::format("{:<17}{}\n{:<17}{} trainings; about {} min, --quick under 3\n",
                        recipe.name, recipe.title, "", recipe.arms.size(), recipe.full_minutes);
  return text;
}

int run(const std::vector<std::string>& names, const std::filesystem::path& out, bool quick) {
  for (const std::string& name : names) find_recipe(name);
  std::filesystem::create_directories(out);
  for (const std::string& name : names) {
    const Reproduction result = carry_out(find_recipe(name), out, quick);
    write_stdout(reproduction_text(result) +
                 fmt::format("{}\n\n", (out / (name + ".md")).string()));
  }
  return kExitGood;
}

int reproduce(const Arguments& arguments) {
  if (arguments.flag("list")) {
    write_stdout(list_of_recipes());
    return kExitGood;
  }
  std::vector<std::string> names = arguments.positionals("NAME");
  if (arguments.flag("all"))
    for (const Recipe& recipe : recipes()) names.push_back(recipe.name);
  if (names.empty())
    throw InputError(
        "expected the name of a recipe, or --all; `thinpipe reproduce --list` shows them");
  return run_outside_sandbox([&](const Sandbox&) {
    try {
      return run(names, std::filesystem::absolute(arguments.text("out")), arguments.flag("quick"));
    } catch (const RunError& error) {
      if (!stop_requested()) throw;
      std::fprintf(stderr, "thinpipe reproduce: %s\n", error.what());
      return 128 + stop_signal();
    }
  });
}

}  // namespace

Verb reproduce_verb() {
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) names.push_back(recipe.name);
  return {
      .name = "reproduce",
      .summary = "Try what the papers found",
      .description =
          "A recipe holds a finding of a paper against trainings of this machine: the paper's "
          "figures "
          "beside ours, and whether the finding appeared, by a rule that was written before "
          "anything "
          "ran. Each arm is a `thinpipe train`; what is finished is not trained again, so that an "
          "interrupted recipe goes on with the same command. docs/reproduce.md has the recipes.",
      .options = {{.name = "list", .help = "show the recipes"},
                  {.name = "all", .help = "carry out all of them, one after the other"},
                  {.name = "quick", .help = "few steps and one seed: a try, not a result"},
                  {.name = "out",
                   .value_name = "DIR",
                   .type = Type::kFolder,
                   .default_value = "out/reproduce",
                   .help = "for records and pages"}},
      .positionals = {{.name = "NAME",
                       .help = "recipe",
                       .required = false,
                       .repeatable = true,
                       .suggestions = names}},
      .examples = {{.purpose = "Does DGC's 0.1 % learn as well as everything?",
                    .command = "thinpipe reproduce dgc-fig3"}},
      .run = reproduce};
}

}  // namespace thinpipe
