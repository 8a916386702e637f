// What came after the five papers, beside them.
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/training_recipes.h"

namespace thinpipe {

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
