// Lim et al., 3LC, table 1: accuracies. (Its speed-ups are a matter of links, not of learning.)
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/threelc_training.h"
#include "harness/reproduce/training_recipes.h"

namespace thinpipe {

Recipe threelc_accuracy() {
  Recipe recipe;
  recipe.plan.name = "3lc-accuracy";
  recipe.plan.title = "accuracy under 3LC and what it was compared with";
  recipe.plan.source =
      "Lim et al., 3LC (2018), table 1: ResNet-110 on CIFAR-10, 10 workers and a parameter server, "
      "163.84 epochs, test accuracy.";
  recipe.plan.here =
      "LeNet-5 on drawn digits, 4 workers, ring and all-gather instead of a server (which would "
      "quantise the answers too). Bits over time are in the records.";
  recipe.plan.differences = {small_models_differ()};
  recipe.plan.columns = trained_columns(columns::accuracy());
  CommonTraining common;
  // Momentum behind a memory is a matter of its own (ef-momentum). With s = 1.9 only what is within
  // 5 % of the largest is sent: it takes hundreds of steps until the rest has gathered so much.
  common.optimiser = "sgd:lr=0.1,momentum=0";
  common.words = small_images();
  common.words.insert(common.words.end(), {"--lr-schedule", "cosine", "--batch", "32"});
  common.full = {"--steps", "1000", "--seeds", "3"};
  common.quick = {"--steps", "30", "--seeds", "1"};
  std::vector<TrainedArm> trainings;
  for (const ThreelcDesign& design : threelc_designs())
    trainings.push_back({design.label, design.accuracy, design.spec});
  add_trainings(recipe, common, trainings);
  const auto as_good = [](const char* arm) {
    return Expectation{.says = std::string(arm) + " learns as well as the baseline",
                       .arm = arm,
                       .than = "32-bit float",
                       .least = -1};
  };
  recipe.plan.expectations = {
      as_good("3LC (s=1.00)"),
      as_good("3LC (s=1.75)"),
      as_good("3LC (s=1.90)"),
      as_good("8-bit int"),
      {.says = "stochastic ternary values are below 3LC",
       .arm = "Stoch 3-value + QE",
       .than = "3LC (s=1.00)",
       .most = 0},
  };
  recipe.full_minutes = 45;
  recipe.quick_seconds = 110;
  return recipe;
}

}  // namespace thinpipe
