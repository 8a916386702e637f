// Lin et al., Deep Gradient Compression, table 1 and fig. 3(a).
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/training_recipes.h"

namespace thinpipe {

Recipe dgc_figure_3() {
  // The memory has the velocity; the optimiser adds what comes.
  const char* corrected = "sgd:lr=0.02,momentum=0";
  Recipe recipe;
  recipe.plan.name = "dgc-fig3";
  recipe.plan.title = "DGC's four techniques, one by one, at 0.1 %";
  recipe.plan.source =
      "Lin et al., Deep Gradient Compression (ICLR 2018), table 1, fig. 3(a) and table 2: "
      "ResNet-110 on CIFAR-10, 4 workers, momentum SGD, 0.1 % of the gradient sent. Accuracy: "
      "baseline 93.75 %, gradient dropping 92.75 %, DGC 93.87 %.";
  recipe.plan.here =
      "LeNet-5 on drawn digits, 4 workers. Each line adds one technique to the one above it; the "
      "first sparse one loses what it does not send, which the paper does not show.";
  recipe.plan.differences = {small_models_differ()};
  recipe.plan.columns = trained_columns(columns::accuracy());
  CommonTraining common;
  common.words = small_images();
  common.full = {"--steps", "600", "--seeds", "5"};
  common.quick = {"--steps", "60", "--seeds", "1"};
  add_trainings(recipe, common,
                {
                    {"baseline", "93.75 %", "none"},
                    {"nothing kept", "", "topk:ratio=0.001,memory=none"},
                    {"gradient dropping", "92.75 %", "topk:ratio=0.001"},
                    {"+ momentum correction",
                     "",
                     "topk:ratio=0.001,memory=momentum,masking=false",
                     {},
                     corrected},
                    {"+ clipping",
                     "",
                     "topk:ratio=0.001,memory=momentum,masking=false,clip=2,workers=4",
                     {},
                     corrected},
                    {"+ factor masking",
                     "",
                     "topk:ratio=0.001,memory=momentum,clip=2,workers=4",
                     {},
                     corrected},
                    {"+ warm-up: DGC",
                     "93.87 %",
                     "dgc:ratio=0.001,clip=2,workers=4,warmup=0.25/0.0625/0.015625/0.004",
                     {},
                     corrected},
                });
  recipe.plan.expectations = {
      {.says = "DGC learns as well as the baseline",
       .arm = "+ warm-up: DGC",
       .than = "baseline",
       .least = -1},
      {.says = "gradient dropping alone loses quality",
       .arm = "gradient dropping",
       .than = "baseline",
       .most = 0},
      {.says = "DGC is no worse than gradient dropping",
       .arm = "+ warm-up: DGC",
       .than = "gradient dropping",
       .least = 0},
      {.says = "what is not sent must be kept",
       .arm = "nothing kept",
       .than = "gradient dropping",
       .most = -1},
  };
  recipe.full_minutes = 30;
  recipe.quick_seconds = 80;
  return recipe;
}

}  // namespace thinpipe
