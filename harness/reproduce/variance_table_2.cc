// Tsuzuku et al., Variance-based Gradient Compression, table 2, momentum SGD.
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/training_recipes.h"

namespace thinpipe {

Recipe variance_table_2() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "variance-table2";
  plan.title = "Strom, variance and both with momentum SGD";
  plan.source =
      "Tsuzuku et al., Variance-based Gradient Compression (2018), table 2, momentum SGD: "
      "ResNet-50 on ImageNet, 16 workers. Accuracy, and parameters over parameters sent.";
  plan.here =
      "LeNet-5 on drawn digits, 4 workers, momentum SGD; dense bytes over payload bytes, where an "
      "element takes one 32-bit word as in the paper.";
  plan.differences = {small_models_differ(),
                      "How much is sent goes by the gradients' noise and scale, which are other "
                      "ones: rates are of the model, not of the method."};
  plan.columns = trained_columns(columns::accuracy());
  const CommonTraining common{.words = small_images(),
                              .full = {"--steps", "300", "--seeds", "5"},
                              .quick = {"--steps", "20", "--seeds", "1"}};
  add_trainings(recipe, common,
                {{"no compression", "76.0 %", "none", {}, {}, "1x"},
                 {"Strom 0.001", "75.2 %", "strom:tau=0.001", {}, {}, "2.1x"},
                 {"Strom 0.01", "75.5 %", "strom:tau=0.01", {}, {}, "35.2x"},
                 {"Strom 0.1", "75.5 %", "strom:tau=0.1", {}, {}, "2002.2x"},
                 {"variance 1", "74.7 %", "variance", {}, {}, "103.8x"},
                 {"variance 1.5", "75.5 %", "variance:alpha=1.5", {}, {}, "400.7x"},
                 {"variance 2", "75.1 %", "variance:alpha=2", {}, {}, "990.7x"},
                 {"hybrid 0.01", "75.0 %", "hybrid:tau=0.01,alpha=2", {}, {}, "470.9x"},
                 {"hybrid 0.1", "75.1 %", "hybrid:tau=0.1,alpha=2", {}, {}, "4345.0x"}});
  for (const char* arm : {"variance 1", "variance 1.5", "variance 2", "hybrid 0.01", "hybrid 0.1"})
    plan.expectations.push_back(
        {.says = std::string(arm) + " learns nearly as well as without compression",
         .arm = arm,
         .than = "no compression",
         .least = -1.5});
  const auto sends_less = [&](const char* arm, const char* than) {
    plan.expectations.push_back({.says = std::string(arm) + " sends less than " + than,
                                 .arm = arm,
                                 .than = than,
                                 .least = 1,
                                 .bounded = Bounded::kRatio,
                                 .column = "times smaller"});
  };
  sends_less("variance 1.5", "variance 1");
  sends_less("variance 2", "variance 1.5");
  sends_less("hybrid 0.1", "Strom 0.1");
  recipe.full_minutes = 60;
  recipe.quick_seconds = 80;
  return recipe;
}

}  // namespace thinpipe
