// Recipes of no one paper: error feedback, which all five rest on, and what came after them.

#include <string>
#include <vector>

#include "harness/reproduce/parts.h"
#include "harness/reproduce/recipe.h"

namespace thinpipe {

// Error feedback on and off: what SBC, 3LC, SIDCo and DGC all rest on.

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

// What came after the five papers, beside them.

Recipe modern_methods() {
  Recipe recipe;
  recipe.plan.name = "modern";
  recipe.plan.title = "PowerSGD, rotated 4-bit values, DeMo, SparseLoCo, DiLoCo";
  recipe.plan.source =
      "Vogels et al., PowerSGD (2019); SDP4Bit (2024); Peng et al., DeMo (2024); SparseLoCo "
      "(2025); Douillard et al., DiLoCo (2023). Each paper says that its method learns as well as "
      "dense training of its own kind.";
  recipe.plan.here =
      "The character LSTM on a text, 4 workers, SGD with momentum; DiLoCo's outer optimiser where "
      "there are local steps.";
  recipe.plan.differences = {
      "DeMo is an optimiser, with a momentum of its own, and has the others' momentum behind it as "
      "well here; \"DeMo, plain SGD\" has none. It was added after all others had been seen.",
      small_models_differ()};
  recipe.plan.columns = trained_columns(columns::perplexity());
  CommonTraining common;
  common.words = small_text();
  common.optimiser = "sgd:lr=1,momentum=0.9";
  common.full = {"--steps", "200", "--seeds", "5"};
  common.quick = {"--steps", "30", "--seeds", "1"};
  const std::vector<std::string> outer{"--local-steps", "8", "--outer", "diloco"};
  add_trainings(recipe, common,
                {
                    {"no compression", "", "none"},
                    {"Top-k 1 %", "", "topk:ratio=0.01"},
                    {"PowerSGD rank 4", "", "powersgd:rank=4"},
                    {"int4 + Hadamard", "", "blockint4:hadamard=true"},
                    {"DeMo", "", "demo"},
                    {"DeMo, plain SGD", "", "demo", {}, "sgd:lr=1,momentum=0"},
                    {"DiLoCo, 8 local steps", "", "none", outer},
                    {"SparseLoCo, 8 local steps", "", "sparseloco", outer},
                });
  const auto as_good = [](const char* arm, const char* than) {
    return Expectation{.says = std::string(arm) + " learns as well as " + than,
                       .arm = arm,
                       .than = than,
                       .most = 1.02,
                       .bounded = Bounded::kRatio};
  };
  recipe.plan.expectations = {
      as_good("PowerSGD rank 4", "no compression"),
      as_good("int4 + Hadamard", "no compression"),
      as_good("DeMo", "no compression"),
      as_good("DeMo, plain SGD", "no compression"),
      as_good("SparseLoCo, 8 local steps", "DiLoCo, 8 local steps"),
  };
  recipe.full_minutes = 60;
  recipe.quick_seconds = 80;
  return recipe;
}

}  // namespace thinpipe
