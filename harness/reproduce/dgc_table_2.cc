// Lin et al., Deep Gradient Compression, table 2: accuracy with more workers.
#include <fmt/format.h>

#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/training_recipes.h"

namespace thinpipe {

Recipe dgc_table_2() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "dgc-table2";
  plan.title = "accuracy with 4 and with 8 workers";
  plan.source =
      "Lin et al., Deep Gradient Compression (ICLR 2018), table 2: ResNet-110 on CIFAR-10, 4 to 32 "
      "workers, 0.1 % of the gradient sent: baseline, Gradient Dropping and DGC.";
  plan.here = "LeNet-5 on drawn digits, 4 and 8 workers, the same mini-batch for each.";
  plan.differences = {
      small_models_differ(),
      "The paper's table goes to 32 workers; on two cores 8 are what can be trained."};
  plan.columns = trained_columns(columns::accuracy());
  struct Papers {
    int workers;
    const char *baseline, *dropping, *dgc;
  };
  // Momentum is DGC's; the optimiser adds what comes.
  const char* corrected = "sgd:lr=0.02,momentum=0";
  for (const Papers& paper :
       {Papers{4, "93.75 %", "92.75 %", "93.87 %"}, Papers{8, "92.92 %", "93.02 %", "93.28 %"}}) {
    const auto label = [&](const char* method) {
      return fmt::format("{} workers, {}", paper.workers, method);
    };
    const CommonTraining common{
        .words = {"-w", std::to_string(paper.workers), "--link", "rate=1gbit", "--compute-time",
                  "0", "-m", "lenet5", "--check-every", "100"},
        .full = {"--steps", "300", "--seeds", "5"},
        .quick = {"--steps", "30", "--seeds", "1"}};
    add_trainings(
        recipe, common,
        {{label("baseline"), paper.baseline, "none"},
         {label("Gradient Dropping"), paper.dropping, "gradientdropping:ratio=0.001"},
         {label("DGC"),
          paper.dgc,
          fmt::format("dgc:ratio=0.001,clip=2,workers={},warmup=0.25/0.0625/0.015625/0.004",
                      paper.workers),
          {},
          corrected}});
    plan.expectations.push_back({.says = label("DGC learns as well as the baseline"),
                                 .arm = label("DGC"),
                                 .than = label("baseline"),
                                 .least = -1});
    plan.expectations.push_back({.says = label("DGC is no worse than Gradient Dropping"),
                                 .arm = label("DGC"),
                                 .than = label("Gradient Dropping"),
                                 .least = 0});
  }
  recipe.full_minutes = 40;
  recipe.quick_seconds = 60;
  return recipe;
}

}  // namespace thinpipe
