#include "harness/reproduce/recipe.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "harness/reproduce/training_recipes.h"

namespace thinpipe {

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {dgc_figure_3(), error_feedback(),   threelc_table_1(),
                                          sbc_figure_3(), variance_table_1(), modern_methods()};
  return all;
}

const Recipe& find_recipe(const std::string& name) {
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) {
    if (recipe.name == name) return recipe;
    names.push_back(recipe.name);
  }
  throw InputError("no recipe '" + name + "'" + did_you_mean(name, names) +
                   "; `thinpipe reproduce --list` shows all");
}

}  // namespace thinpipe
