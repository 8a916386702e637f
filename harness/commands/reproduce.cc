// `thinpipe reproduce`: reproduces results of the papers on this machine.

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "harness/reproduce/recipe.h"
#include "netem/sandbox.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

std::string needs_of(const Recipe& recipe) {
  std::vector<std::string> needs;
  if (recipe.trains()) needs.emplace_back("libtorch");
  if (recipe.plan.rests_on_times) needs.emplace_back("a quiet machine");
  needs.push_back(format_bytes(recipe.memory) + " of memory");
  needs.push_back(format_bytes(recipe.disk) + " of disk");
  return joined(needs, ", ");
}

int print_recipes() {
  std::string text;
  for (const std::string& name : recipe_names()) {
    const Recipe recipe = find_recipe(name);
    text += fmt::format("{0:<17}{1}\n{2:<17}{3} min, --quick {4} s\n{2:<17}{5}\n", name,
                        recipe.plan.title, "", recipe.full_minutes, recipe.quick_seconds,
                        needs_of(recipe));
  }
  write_text(text);
  return kExitGood;
}

int carry_out(const std::vector<std::string>& names, const std::filesystem::path& out, bool quick) {
  return perform_all(names, out, quick, [&out](const Reproduction& result) {
    write_text(reproduction_text(result) +
               fmt::format("{}\n\n", (out / (result.plan.name + ".md")).string()));
  });
}

Action prepare_reproduce(const Arguments& arguments) {
  if (arguments.flag("list")) return print_recipes;
  std::vector<std::string> names = arguments.positionals("NAME");
  if (arguments.flag("all")) {
    const std::vector<std::string> all = recipe_names();
    names.insert(names.end(), all.begin(), all.end());
  }
  if (names.empty())
    throw InputError(
        "expected the name of a recipe, or --all; `thinpipe reproduce --list` lists the recipes");
  if (arguments.flag("print")) {
    for (const std::string& name : names) {
      if (name.ends_with(".toml"))
        throw InputError("--print prints thinpipe's own recipes; " + in_quotes(name) +
                         " is a file already");
      recipe_text(name);
    }
    return [names] {
      for (const std::string& name : names) write_stdout(recipe_text(name));
      return kExitGood;
    };
  }
  for (const std::string& name : names) find_recipe(name);
  return [&arguments, names] {
    return run_outside_sandbox([&](const Sandbox&) {
      return carry_out(names, std::filesystem::absolute(arguments.text("out")),
                       arguments.flag("quick"));
    });
  };
}

}  // namespace

Verb reproduce_verb() {
  return {.name = "reproduce",
          .summary = "Reproduce results of the papers on this machine",
          .description =
              "A recipe compares a table or figure of a paper with measurements on this machine. "
              "It shows the paper's values beside the measured ones, and checks the paper's "
              "finding by rules that are fixed before the measurement. A recipe runs some commands "
              "of thinpipe one after the other. Finished commands are not repeated, so the same "
              "command line continues an interrupted recipe. The folder of --out gets a page for "
              "each recipe (NAME.md) and a list of all recipes (README.md). docs/reproduce.md "
              "describes the recipes and how to write one.",
          .options = {{.name = "list", .help = "list the recipes with requirements and duration"},
                      {.name = "print",
                       .help = "print the files of recipes, as templates; `shared` is the file "
                               "that all of them include"},
                      {.name = "all",
                       .help = "run all recipes in sequence; a failure does not stop the others"},
                      {.name = "quick", .help = "few steps and one seed: a test, not a result"},
                      folder_option("out", "DIR", "out/reproduce", "folder for records and pages")},
          .positionals = {{.name = "NAME",
                           .help = "name of a recipe, or a recipe file (.toml)",
                           .required = false,
                           .repeatable = true,
                           .suggestions = recipe_names()}},
          .examples = {{"Check whether DGC with 0.1 % learns as well as without compression",
                        "thinpipe reproduce dgc-fig3"},
                       {"All recipes, which takes several nights",
                        "thinpipe reproduce --all --out results"}},
          .prepare = prepare_reproduce};
}

}  // namespace thinpipe
