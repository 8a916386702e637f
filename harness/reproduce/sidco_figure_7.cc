// Abdelmoniem et al., SIDCo, fig. 7: gradients are compressible.
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/pictures.h"
#include "harness/reproduce/shared_rows.h"

namespace thinpipe {
namespace {

// Fig. 7(a): sorted magnitudes.
ReproductionPicture sorted_magnitudes(const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture =
      empty_picture("decay", "Sorted magnitudes of gradients against their place", "place",
                    "magnitude over the gradient's norm", true);
  for (const ArmRecords& arm : arms) {
    if (!arm.stats) continue;
    for (const StatsGradient& gradient : arm.stats->gradients) {
      if (gradient.tensor != "*" || gradient.feedback || !gradient.points) continue;
      add_points(picture, arm.label, gradient.points->places, gradient.points->magnitudes);
      break;
    }
  }
  return picture;
}

}  // namespace

Recipe sidco_figure_7() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "sidco-fig7";
  plan.title = "how fast sorted gradients decay";
  plan.source =
      "Abdelmoniem et al., SIDCo (2021), fig. 7 and app. B.1: ResNet-20 on CIFAR-10, three "
      "iterations. Sorted magnitudes decay by a power law with p > 0.7, more than the 0.5 that "
      "makes a vector compressible; the error of the best k decays with p - 0.5 > 0.2.";
  plan.here =
      "Captured gradients of a ResNet-20 on drawn images at the beginning, in the middle and at "
      "the end: the exponent by least squares over the same share of places (37 %).";
  plan.differences = {"The training is short and its images are simple.",
                      "The paper draws a line at p = 0.7 and fits none."};
  plan.columns = {columns::decay_exponent(), columns::best_k_error(0, "error of the best 10 %"),
                  columns::best_k_error(1, "error of the best 1 %")};
  for (const char* when : {"beginning", "middle", "end"}) {
    plan.rows.push_back({.label = when, .arm = when, .compressor = "", .paper = {"> 0.7"}});
    plan.expectations.push_back({.says = std::string("compressible: p is more than 0.5, ") + when,
                                 .arm = when,
                                 .least = 0.5,
                                 .bounded = Bounded::kValue});
    plan.expectations.push_back({.says = std::string("p is more than 0.7, ") + when,
                                 .arm = when,
                                 .least = 0.7,
                                 .bounded = Bounded::kValue});
  }
  plan.picture = sorted_magnitudes;
  recipe.needs.training = true;
  const auto stats = [&](const char* steps) { return stats_of_capture(plan.name, steps); };
  recipe.arms = {capture_whole_training(),
                 {.label = "beginning", .full = stats("5,15,25"), .quick = stats("8,11,14")},
                 {.label = "middle", .full = stats("115,125,135"), .quick = stats("32,35,38")},
                 {.label = "end", .full = stats("215,225,235"), .quick = stats("53,56,59")}};
  recipe.full_minutes = 1;
  recipe.quick_seconds = 40;
  return recipe;
}

}  // namespace thinpipe
