// Recipes of `thinpipe reproduce`: a finding of a paper, the commands that would show it, and the
// rules that decide whether it appeared, written before anything runs.
#pragma once

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

}  // namespace thinpipe
