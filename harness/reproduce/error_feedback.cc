// Error feedback on and off: what SBC, 3LC, SIDCo and DGC all rest on.
#include <string>

#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/training_recipes.h"

namespace thinpipe {
namespace {

Recipe with_memory_and_without(const std::string& name, const std::string& optimiser) {
  Recipe recipe;
  recipe.plan.name = name;
  recipe.plan.source =
      "All five papers keep what they do not send (SBC eq. 2; 3LC fig. 3; SIDCo app. B.2; DGC alg. "
      "1); 3LC sec. 5.3 lays the lower accuracy of stochastic ternary values to their doing "
      "without.";
  recipe.plan.differences = {small_models_differ()};
  recipe.plan.columns = trained_columns(columns::accuracy());
  CommonTraining common;
  common.optimiser = optimiser;
  common.words = small_images();
  common.full = {"--steps", "300", "--seeds", "5"};
  common.quick = {"--steps", "60", "--seeds", "1"};
  add_trainings(recipe, common,
                {
                    {"no compression", "", "none"},
                    {"topk 1 %", "", "topk:ratio=0.01"},
                    {"topk 1 %, nothing kept", "", "topk:ratio=0.01,memory=none"},
                    {"topk 0.1 %", "", "topk:ratio=0.001"},
                    {"topk 0.1 %, nothing kept", "", "topk:ratio=0.001,memory=none"},
                    {"sbc 1 %", "", "sbc:p=0.01"},
                    {"sbc 1 %, nothing kept", "", "sbc:p=0.01,memory=none"},
                    {"3lc s=1.9", "", "3lc:s=1.9"},
                    {"3lc s=1.9, nothing kept", "", "3lc:s=1.9,memory=none"},
                });
  recipe.plan.expectations = {
      {.says = "Top-k at 1 % is better with its memory",
       .arm = "topk 1 %",
       .than = "topk 1 %, nothing kept",
       .least = 0},
      {.says = "Top-k at 0.1 % is better by far",
       .arm = "topk 0.1 %",
       .than = "topk 0.1 %, nothing kept",
       .least = 1},
      {.says = "SBC is better with its memory",
       .arm = "sbc 1 %",
       .than = "sbc 1 %, nothing kept",
       .least = 0},
      {.says = "3LC is better with its memory",
       .arm = "3lc s=1.9",
       .than = "3lc s=1.9, nothing kept",
       .least = 0},
      {.says = "with it, 1 % is as good as everything",
       .arm = "topk 1 %",
       .than = "no compression",
       .least = -1},
  };
  recipe.full_minutes = 40;
  recipe.quick_seconds = 100;
  return recipe;
}

constexpr const char* kHere =
    "LeNet-5 on drawn digits, 4 workers; each compressor with its memory and without. Strom's "
    "threshold without one sends next to nothing, and is left out.";

}  // namespace

// Of twice the rate one training without compression in five ends with a loss that is no number.
Recipe error_feedback() {
  Recipe recipe = with_memory_and_without("error-feedback", "sgd:lr=0.1,momentum=0");
  recipe.plan.title = "what is not sent: kept for the next step, or lost";
  recipe.plan.here =
      std::string(kHere) +
      " Plain SGD, whose sum over steps a memory preserves; ef-momentum has momentum.";
  return recipe;
}

Recipe error_feedback_with_momentum() {
  Recipe recipe = with_memory_and_without("ef-momentum", "sgd:lr=0.02,momentum=0.9");
  recipe.plan.title = "the same, with momentum in the optimiser behind the memory";
  recipe.plan.here =
      std::string(kHere) +
      " Momentum of 0.9 on what arrives, as in dgc-fig3: what was kept for many steps is driven on "
      "as "
      "though it had come step by step, which is what DGC's momentum correction mends.";
  return recipe;
}

}  // namespace thinpipe
