// Recipes of `thinpipe reproduce`: a finding of a paper, the commands that would show it, and the
// rules by which it is said to have appeared, written down before anything runs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reports/reproduction/reproduction.h"

namespace thinpipe {

/// One command of a recipe: a verb with its arguments, but for where its output goes. It runs in
/// the folder of all records; paths in it are relative to that.
struct RecipeArm {
  std::string label;
  std::vector<std::string> full = {};   ///< a measurement
  std::vector<std::string> quick = {};  ///< a try; empty: left out of it
  const std::vector<std::string>& words(bool is_quick) const { return is_quick ? quick : full; }
};

struct Recipe {
  ReproductionPlan plan;  ///< rows' compressors as a user writes them
  std::vector<RecipeArm>
      arms;               ///< in the order in which they run; later ones may read earlier ones'
  double memory = 1e9;    ///< bytes that it takes, at most
  double disk = 50e6;     ///< bytes that it leaves behind
  int full_minutes = 0;   ///< about what it takes on two cores
  int quick_seconds = 0;  ///< likewise

  const std::string& name() const { return plan.name; }
  /// Whether it takes a build with libtorch.
  bool trains() const;
};

/// recipes/*.toml as they were when this was built, by name without the ending; "shared" has what
/// the others share. Made by CMake.
const std::map<std::string, std::string_view>& recipe_files();

/// Returns one of them. @throws InputError for an unknown name, with one that is like it
std::string_view recipe_text(const std::string& name);

/// The recipes that come with thinpipe, in the order in which `--all` carries them out.
std::vector<std::string> recipe_names();

/// One of those, or of a file, whose name ends with ".toml".
/// @throws InputError for an unknown name, with one that is like it; as parse_recipe() does
Recipe find_recipe(const std::string& name);

/// A recipe as its file says it (docs/reproduce.md).
/// @param file  names the text in messages
/// @throws InputError naming file and place for what is no recipe: a rule about a row that is not
/// there, an unknown column, method or verb
Recipe parse_recipe(const std::string& name, std::string_view text, const std::string& file);

/// Where an arm leaves its records, relative to the folder of all: `NAME/label`, the label as
/// plain_file_name() has it.
std::string arm_place(const std::string& recipe, const std::string& label);

}  // namespace thinpipe
