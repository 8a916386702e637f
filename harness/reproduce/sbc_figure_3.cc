// Sattler et al., Sparse Binary Compression, fig. 3 and table II.
#include <fmt/format.h>

#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/training_recipes.h"

namespace thinpipe {

Recipe sbc_figure_3() {
  Recipe recipe;
  recipe.plan.name = "sbc-fig3";
  recipe.plan.title = "sparsity in time against sparsity in space";
  recipe.plan.source =
      "Sattler et al., Sparse Binary Compression (2018), fig. 3: ResNet-32 on CIFAR-10, 4 clients; "
      "the error depends on the product of temporal and gradient sparsity, and is about constant "
      "along diagonals.";
  recipe.plan.here =
      "LeNet-5 on drawn digits, 4 workers, SBC every n-th step with a share p. One diagonal has "
      "the same n/p: as many elements sent in all. Plain SGD.";
  recipe.plan.differences = {small_models_differ()};
  recipe.plan.columns = trained_columns(columns::accuracy());
  CommonTraining common;
  // Plain SGD: momentum behind a memory is a matter of its own (ef-momentum).
  common.optimiser = "sgd:lr=0.1,momentum=0";
  common.words = small_images();
  common.full = {"--steps", "300", "--seeds", "5"};
  common.quick = {"--steps", "60", "--seeds", "1"};
  std::vector<TrainedArm> trainings{{"no compression", "", "none"}};
  for (const int delay : {1, 5, 25})
    for (const double share : {0.05, 0.01, 0.002})
      trainings.push_back({fmt::format("n={} p={:g}", delay, share), "",
                           fmt::format("sbc:delay={},p={:g}", delay, share)});
  add_trainings(recipe, common, trainings);
  const auto alike = [](const char* arm, const char* than) {
    return Expectation{.says = fmt::format("{} and {} are alike", arm, than),
                       .arm = arm,
                       .than = than,
                       .least = -2,
                       .most = 2};
  };
  recipe.plan.expectations = {
      alike("n=5 p=0.05", "n=1 p=0.01"),
      alike("n=25 p=0.05", "n=5 p=0.01"),
      alike("n=5 p=0.01", "n=1 p=0.002"),
      {.says = "the least of both is the best",
       .arm = "n=1 p=0.05",
       .than = "n=25 p=0.002",
       .least = 0},
  };
  recipe.full_minutes = 40;
  recipe.quick_seconds = 100;
  return recipe;
}

}  // namespace thinpipe
