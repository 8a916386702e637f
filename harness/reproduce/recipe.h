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

// The recipes, by paper.

Recipe threelc_table_1();   ///< speed-up of eleven designs with a parameter server
Recipe threelc_table_2();   ///< how small 3LC makes pushes and pulls
Recipe threelc_figure_4();  ///< accuracy against time, trained for a quarter to all of the steps
Recipe threelc_figure_9();  ///< the same over a training
Recipe threelc_accuracy();  ///< accuracy of 3LC and what it was compared with
Recipe sidco_figure_1();    ///< speed over Top-k and estimation quality
Recipe sidco_figure_2();    ///< distributions fitted to gradients
Recipe sidco_figure_3();    ///< speed-up to a target
Recipe sidco_figure_5();    ///< the same of two convolutional networks
Recipe sidco_figure_7();    ///< decay of sorted magnitudes
Recipe sidco_figure_9();    ///< estimation quality over steps
Recipe sidco_figure_16();   ///< speed at four sizes
Recipe sbc_table_1();       ///< rates, computed and encoded
Recipe sbc_equation_5();    ///< bits of a position
Recipe sbc_figure_3();      ///< sparsity in time and in space, one against the other
Recipe sbc_table_2();       ///< quality and rate of SBC's settings
Recipe variance_table_1();  ///< Strom, variance, both, with Adam
Recipe variance_table_2();  ///< the same with momentum SGD
Recipe variance_speedup();  ///< speed-up of an exchange by a model
Recipe dgc_figure_3();      ///< DGC's techniques one by one
Recipe dgc_figure_6();      ///< speed-up with the number of nodes
Recipe dgc_table_2();       ///< accuracy with more workers
Recipe dgc_table_3();       ///< sizes of gradients
Recipe error_feedback();    ///< what is not sent: kept, or lost
Recipe error_feedback_with_momentum();
Recipe modern_methods();  ///< what came after the papers

}  // namespace thinpipe
