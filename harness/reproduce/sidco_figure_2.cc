// Abdelmoniem et al., SIDCo, fig. 2: distributions fitted to gradients.
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/pictures.h"
#include "harness/reproduce/shared_rows.h"

namespace thinpipe {
namespace {

// Fig. 2(d): distribution functions of magnitudes late in the training.
ReproductionPicture distribution_functions(const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture = empty_picture(
      "fits", "Distribution of magnitudes late in the training, and what was fitted to it",
      "magnitude over the gradient's norm", "share that is smaller", false);
  picture.chart.x.is_log = true;
  for (const ArmRecords& arm : arms) {
    if (arm.label != "late" || !arm.stats) continue;
    for (const StatsGradient& gradient : arm.stats->gradients) {
      if (gradient.tensor != "*" || gradient.feedback || !gradient.points) continue;
      add_points(picture, "measured", gradient.points->x, gradient.points->empirical);
      for (std::size_t i = 0; i < kFitNames.size(); ++i)
        add_points(picture, kFitNames[i], gradient.points->x, gradient.points->fitted[i]);
      return picture;
    }
  }
  return picture;
}

}  // namespace

Recipe sidco_figure_2() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "sidco-fig2";
  plan.title = "which distribution gradients have";
  plan.source =
      "Abdelmoniem et al., SIDCo (2021), fig. 2: ResNet-20 on CIFAR-10, iterations 100 and 10000. "
      "Double exponential, gamma and generalised Pareto distributions, fitted to the gradient "
      "without error feedback, approximate it over most of its domain.";
  plan.here =
      "Captured gradients of a ResNet-20 on drawn images, steps early and late in the training: "
      "Kolmogorov-Smirnov distances of SIDCo's fits and of a normal distribution.";
  plan.differences = {
      "The training is short and its images are simple; the paper shows curves and gives no "
      "distances.",
      "All layers are taken as one vector, as in the paper; each alone fits better (thinpipe trace "
      "stats shows them)."};
  for (std::size_t i = 0; i < kFitNames.size(); ++i)
    plan.columns.push_back(columns::fit_distance(i));
  plan.rows = {{.label = "early", .arm = "early", .compressor = "", .paper = {}},
               {.label = "late", .arm = "late", .compressor = "", .paper = {}}};
  for (const char* row : {"early", "late"}) {
    for (const char* fit : {"exponential", "gamma", "gpareto"})
      plan.expectations.push_back({.says = std::string(fit) + " fits better than normal, " + row,
                                   .arm = row,
                                   .than = row,
                                   .most = 0,
                                   .column = fit,
                                   .than_column = "normal"});
    plan.expectations.push_back({.says = std::string("gamma is within 0.1 everywhere, ") + row,
                                 .arm = row,
                                 .most = 0.1,
                                 .bounded = Bounded::kValue,
                                 .column = "gamma"});
  }
  plan.picture = distribution_functions;
  recipe.needs.training = true;
  const auto stats = [&](const char* steps) { return stats_of_capture(plan.name, steps); };
  recipe.arms = {capture_whole_training(),
                 {.label = "early", .full = stats("5,15,25"), .quick = stats("8,11,14")},
                 {.label = "late", .full = stats("215,225,235"), .quick = stats("53,56,59")}};
  recipe.full_minutes = 1;
  recipe.quick_seconds = 40;
  return recipe;
}

}  // namespace thinpipe
