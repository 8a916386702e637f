#include "harness/reproduce/recipe.h"

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = {threelc_table_1(),
                                          threelc_table_2(),
                                          threelc_figure_4(),
                                          threelc_figure_9(),
                                          threelc_accuracy(),
                                          sidco_figure_1(),
                                          sidco_figure_2(),
                                          sidco_figure_3(),
                                          sidco_figure_5(),
                                          sidco_figure_7(),
                                          sidco_figure_9(),
                                          sidco_figure_16(),
                                          sbc_table_1(),
                                          sbc_equation_5(),
                                          sbc_figure_3(),
                                          sbc_table_2(),
                                          variance_table_1(),
                                          variance_table_2(),
                                          variance_speedup(),
                                          dgc_figure_3(),
                                          dgc_figure_6(),
                                          dgc_table_2(),
                                          dgc_table_3(),
                                          error_feedback(),
                                          error_feedback_with_momentum(),
                                          modern_methods()};
  return all;
}

const Recipe& find_recipe(const std::string& name) {
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) {
    if (recipe.name() == name) return recipe;
    names.push_back(recipe.name());
  }
  throw InputError("no recipe " + in_quotes(name) + did_you_mean(name, names) +
                   "; `thinpipe reproduce --list` shows all");
}

std::string arm_place(const std::string& recipe, const std::string& label) {
  return recipe + "/" + plain_file_name(label);
}

}  // namespace thinpipe
