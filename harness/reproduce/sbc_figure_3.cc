// Sattler et al., Sparse Binary Compression, fig. 3 and table II.
#include <fmt/format.h>

#include "harness/reproduce/training_recipes.h"

namespace thinpipe {

Recipe sbc_figure_3() {
  Recipe recipe;
  recipe.name = "sbc-fig3";
  recipe.title = "sparsity in time against sparsity in space";
  recipe.source =
      "Sattler et al., Sparse Binary Compression (2018), fig. 3: ResNet-32 on CIFAR-10, 4 clients; "
      "the error "
      "depends on the product of temporal and gradient sparsity, and is about constant along "
      "diagonals.";
  recipe.here =
      "LeNet-5 on drawn digits, 4 workers, SBC every n-th step with a share p. One diagonal has "
      "the same n/p: "
      "as many elements sent in all.";
  recipe.common = small_images();
  recipe.full = {"--steps", "300", "--seeds", "5"};
  recipe.quick = {"--steps", "60", "--seeds", "1"};
  recipe.arms.push_back({"no compression", "", "none"});
  for (const int delay : {1, 5, 25})
    for (const double share : {0.05, 0.01, 0.002})
      recipe.arms.push_back({fmt::format("n={} p={:g}", delay, share), "",
                             fmt::format("sbc:delay={},p={:g}", delay, share)});
  const auto alike = [](const char* arm, const char* than) {
    return Expectation{.says = fmt::format("{} and {} are alike", arm, than),
                       .arm = arm,
                       .than = than,
                       .least = -2,
                       .most = 2};
  };
  recipe.expectations = {
      alike("n=5 p=0.05", "n=1 p=0.01"),
      alike("n=25 p=0.05", "n=5 p=0.01"),
      alike("n=5 p=0.01", "n=1 p=0.002"),
      {.says = "the least of both is the best",
       .arm = "n=1 p=0.05",
       .than = "n=25 p=0.002",
       .least = 0},
  };
  recipe.full_minutes = 40;
  return recipe;
}

}  // namespace thinpipe
