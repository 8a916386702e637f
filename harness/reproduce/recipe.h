// What `thinpipe reproduce` knows how to do: a finding of a paper, the commands that would show it,
// and the rules by which it is said to have appeared, written down before anything runs.
#pragma once

#include <string>
#include <vector>

#include "reports/reproduction/reproduction.h"

namespace thinpipe {

/// One command of a recipe: a verb with its arguments, but for where its output goes. It runs in
/// the folder of all records; paths in it are relative to that.
struct RecipeArm {
  std::string label;
  std::vector<std::string> full;   ///< a measurement
  std::vector<std::string> quick;  ///< a try; empty: left out of it
  const std::vector<std::string>& words(bool is_quick) const { return is_quick ? quick : full; }
};

/// What a recipe asks of a machine.
struct RecipeNeeds {
  bool training = false;       ///< a build with libtorch
  bool trusted_times = false;  ///< a machine that does nothing else
  double memory = 1e9;         ///< bytes, at most
  double disk = 50e6;          ///< bytes that it leaves behind
};

struct Recipe {
  ReproductionPlan plan;  ///< rows' compressors as a user writes them
  RecipeNeeds needs;
  std::vector<RecipeArm>
      arms;               ///< in the order in which they run; later ones may read earlier ones'
  int full_minutes = 0;   ///< about what it took on two cores
  int quick_seconds = 0;  ///< likewise

  const std::string& name() const { return plan.name; }
};

/// All of them, in the order in which `--all` carries them out.
const std::vector<Recipe>& recipes();
/// @throws InputError for an unknown name, with one that is like it
const Recipe& find_recipe(const std::string& name);

/// Where an arm leaves its records, relative to the folder of all: `NAME/label`, the label as
/// plain_file_name() has it.
std::string arm_place(const std::string& recipe, const std::string& label);

}  // namespace thinpipe
