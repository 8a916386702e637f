// What `thinpipe reproduce` knows how to do: a finding of a paper, what to run for it, and the rule
// by which it is said to have appeared, written down before anything runs.
#pragma once

#include <string>
#include <vector>

#include "reports/reproduction/reproduction.h"

namespace thinpipe {

/// One training of a recipe: a compressor, and what else it differs in from the others.
struct RecipeArm {
  std::string label;                    ///< as the paper names it
  std::string paper;                    ///< the paper's figure for it; "" where it gives none
  std::string compressor;               ///< a spec
  std::vector<std::string> words = {};  ///< more arguments of `thinpipe train`
  std::string optimiser = {};           ///< instead of the recipe's
};

struct Recipe {
  std::string name;    ///< `dgc-fig3`
  std::string title;   ///< one line
  std::string source;  ///< paper, table or figure, and what was trained there
  std::string here;    ///< what is trained instead, and why it says something about the same
  std::string optimiser = "sgd:lr=0.02,momentum=0.9";
  std::vector<std::string> common;  ///< arguments of `thinpipe train` for all arms
  std::vector<std::string> full;    ///< more of them: steps, seeds
  std::vector<std::string> quick;   ///< instead, for a try in under three minutes
  std::vector<RecipeArm> arms;
  std::vector<Expectation> expectations;
  int full_minutes = 0;  ///< about what it takes on two cores; quick ones take under three
};

/// All of them, by name.
const std::vector<Recipe>& recipes();
/// @throws InputError for an unknown name, with one that is like it
const Recipe& find_recipe(const std::string& name);

}  // namespace thinpipe
