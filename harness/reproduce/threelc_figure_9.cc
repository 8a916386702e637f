// Lim et al., 3LC, fig. 9: compressed size over a training.
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/pictures.h"
#include "harness/reproduce/threelc_training.h"
#include "reports/statistics/quantile.h"

namespace thinpipe {
namespace {

// The paper: "after finishing approximately 70 % of training".
constexpr double kTurn = 0.7;

ReproductionPicture sizes_over_steps(const std::vector<ArmRecords>& arms) {
  ReproductionPicture picture =
      empty_picture("sizes", "Bits an element that 3LC pushes and pulls, step by step",
                    "training step", "bits an element", false);
  for (const ArmRecords& arm : arms)
    for (const Point& point : arm.records.points)
      for (const bool pulled : {false, true})
        if (point.axes.seed <= 1)
          add_line(
              picture,
              spec_value(point.axes.compressor, "s", "s=") + (pulled ? ", pulled" : ", pushed"),
              running_mean(columns::bits_by_step(point, pulled), 5));
  return picture;
}

}  // namespace

Recipe threelc_figure_9() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "3lc-fig9";
  plan.title = "compressed size over a training with 3LC";
  plan.source =
      "Lim et al., 3LC (2018), fig. 9: bits for each state change by training step, ResNet-110, s "
      "= 1.00 and 1.75. Compressed pushes tend to be smaller than pulls until about 70 % of the "
      "training; then they become larger.";
  plan.here = "A ResNet-20 with 4 workers and a parameter server, payloads as they were sent.";
  plan.differences = threelc_differences();
  plan.columns = {
      columns::named("pushed, to 70 %", columns::bits_during(false, 0, kTurn)),
      columns::named("pulled, to 70 %", columns::bits_during(true, 0, kTurn)),
      columns::named("pushed, then", columns::bits_during(false, kTurn, 1)),
      columns::named("pulled, then", columns::bits_during(true, kTurn, 1)),
  };
  plan.rows = {{.label = "s=1.00", .arm = "training", .compressor = "3lc", .paper = {}},
               {.label = "s=1.75", .arm = "training", .compressor = "3lc:s=1.75", .paper = {}}};
  for (const char* row : {"s=1.00", "s=1.75"}) {
    plan.expectations.push_back(
        {.says = std::string("pushes are smaller than pulls at first, ") + row,
         .arm = row,
         .than = row,
         .most = 1,
         .bounded = Bounded::kRatio,
         .column = "pushed, to 70 %",
         .than_column = "pulled, to 70 %"});
    plan.expectations.push_back({.says = std::string("pushes become larger, ") + row,
                                 .arm = row,
                                 .than = row,
                                 .least = 1,
                                 .bounded = Bounded::kRatio,
                                 .column = "pushed, then",
                                 .than_column = "pulled, then"});
    plan.expectations.push_back({.says = std::string("sizes change over the training, ") + row,
                                 .arm = row,
                                 .than = row,
                                 .least = 1.05,
                                 .bounded = Bounded::kRatio,
                                 .column = "pushed, then",
                                 .than_column = "pushed, to 70 %"});
  }
  plan.picture = sizes_over_steps;
  recipe.needs.training = true;
  recipe.arms = {threelc_training({"-c", "3lc:s=1|1.75"})};
  recipe.full_minutes = 7;
  recipe.quick_seconds = 40;
  return recipe;
}

}  // namespace thinpipe
