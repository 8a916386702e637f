// Recipes of `thinpipe reproduce`: a finding of a paper, the commands that would show it, and the
// rules that decide whether it appeared, written before anything runs. Performs a recipe: runs its
// commands, reads their records, checks the rules, writes the page.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reports/reproduction/reproduction.h"

namespace thinpipe {

/// One command of a recipe: a verb with its arguments, without output options. It runs in the
/// folder of all records, to which its paths are relative.
struct RecipeArm {
  std::string label;
  std::vector<std::string> full = {};   ///< a measurement
  std::vector<std::string> quick = {};  ///< a quick try; empty if there is none
  const std::vector<std::string>& words(bool is_quick) const { return is_quick ? quick : full; }
};

struct Recipe {
  ReproductionPlan plan;  ///< rows' compressors as a user writes them
  /// In the order in which they run; later arms may read the records of earlier ones.
  std::vector<RecipeArm> arms;
  double memory = 1e9;    ///< greatest number of bytes in use
  double disk = 50e6;     ///< bytes of its records
  int full_minutes = 0;   ///< approximate time on two cores
  int quick_seconds = 0;  ///< approximate time on two cores

  const std::string& name() const { return plan.name; }
  /// Returns true if the recipe needs a build with libtorch.
  bool trains() const;
};

/// Returns the texts that recipes/*.toml had at build time, by file name without the ending.
/// "shared" has the values that all other recipes share. CMake makes this function.
const std::map<std::string, std::string_view>& recipe_files();

/// Returns the text of a recipe. @throws InputError for an unknown name, with a similar one
std::string_view recipe_text(const std::string& name);

/// Returns the names of thinpipe's recipes, in the order in which `--all` performs them.
std::vector<std::string> recipe_names();

/// Returns one of thinpipe's recipes, or the recipe in a file whose name ends with ".toml".
/// @throws InputError for an unknown name, with a similar one; as parse_recipe() does
Recipe find_recipe(const std::string& name);

/// Parses a recipe's file (docs/reproduce.md).
/// @param file  names the text in messages
/// @throws InputError naming file and position of an error: a rule about a row that does not exist,
/// an unknown column, method or verb
Recipe parse_recipe(const std::string& name, std::string_view text, const std::string& file);

/// Returns the folder of an arm's records, relative to the folder of all: `NAME/label`, with the
/// label by plain_file_name().
std::string arm_place(const std::string& recipe, const std::string& label);

/// Returns the words of an arm's command with its output options, which differ by verb.
/// @param place  arm_place()
std::vector<std::string> placed_words(const std::vector<std::string>& words,
                                      const std::string& place);

/// Returns the command as a user would type it in the folder of all records.
std::string command_of(const std::vector<std::string>& words, const std::string& place);

/// Checks that the folder has no records of another command, such as those of a quick try.
/// @throws InputError when the folder has such records
void refuse_other_command(const std::filesystem::path& folder,
                          const std::vector<std::string>& words);

/// Performs recipes, one after the other, and calls `done` after each. Runs their arms that are not
/// finished yet, and reports progress on standard error. An arm that fails does not end the others;
/// the page reports it. A recipe that fails is reported on standard error and does not end the
/// others. Writes OUT/NAME.md, its picture, and OUT/README.md, the list of all recipes.
/// @returns the exit code: kExitFailed if a command failed, kExitUsage if a recipe was refused, as
/// where an arm's folder has the records of another command
/// @throws RunError when stop_requested()
int perform_all(const std::vector<std::string>& names, const std::filesystem::path& out, bool quick,
                const std::function<void(const Reproduction&)>& done);

}  // namespace thinpipe
