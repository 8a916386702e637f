// Tsuzuku et al., Variance-based Gradient Compression, table 1.
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/training_recipes.h"

namespace thinpipe {

Recipe variance_table_1() {
  Recipe recipe;
  recipe.plan.name = "variance-table1";
  recipe.plan.title = "which elements are unambiguous: Strom, variance, both";
  recipe.plan.source =
      "Tsuzuku et al., Variance-based Gradient Compression (2018), table 1, Adam: a VGG-like "
      "network on CIFAR-10, 8 workers. Accuracy and parameters over parameters sent: 88.1 % "
      "without, Strom 62.8 to 88.0 %, variance 88.9 % at 121 to 913, hybrid 85.0 to 88.2 %, QSGD "
      "with 2 bits 88.8 % at 12.";
  recipe.plan.here =
      "LeNet-5 on drawn digits, 4 workers, Adam. Second moments are computed by a backward pass "
      "for every sample, as the method asks.";
  recipe.plan.differences = {small_models_differ()};
  recipe.plan.columns = trained_columns(columns::accuracy());
  CommonTraining common;
  common.words = small_images();
  common.optimiser = "adam:lr=0.001";
  common.full = {"--steps", "300", "--seeds", "5"};
  common.quick = {"--steps", "20", "--seeds", "1"};
  add_trainings(recipe, common,
                {
                    {"no compression", "88.1 %", "none"},
                    {"Strom 0.001", "62.8 %", "strom:tau=0.001", {}, {}, "88.5x"},
                    {"Strom 0.01", "85.0 %", "strom:tau=0.01", {}, {}, "230.1x"},
                    {"Strom 0.1", "88.0 %", "strom:tau=0.1", {}, {}, "6942.8x"},
                    {"variance 1", "88.9 %", "variance", {}, {}, "120.7x"},
                    {"variance 1.5", "88.9 %", "variance:alpha=1.5", {}, {}, "453.3x"},
                    {"variance 2", "88.9 %", "variance:alpha=2", {}, {}, "913.4x"},
                    {"hybrid 0.01", "85.0 %", "hybrid:tau=0.01,alpha=2", {}, {}, "1942.2x"},
                    {"hybrid 0.1", "88.2 %", "hybrid:tau=0.1,alpha=2", {}, {}, "12822.4x"},
                    {"QSGD 2 bits", "88.8 %", "qsgd:bits=2,bucket=128", {}, {}, "12.3x"},
                });
  const auto as_good = [](const char* arm) {
    return Expectation{.says = std::string(arm) + " learns as well as without compression",
                       .arm = arm,
                       .than = "no compression",
                       .least = -1};
  };
  recipe.plan.expectations = {as_good("variance 1"), as_good("variance 1.5"),
                              as_good("variance 2")};
  recipe.full_minutes = 60;
  recipe.quick_seconds = 85;
  return recipe;
}

}  // namespace thinpipe
