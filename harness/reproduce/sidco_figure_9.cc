// Abdelmoniem et al., SIDCo, fig. 9: k-hat over k through a training.
#include "harness/reproduce/catalogue.h"
#include "harness/reproduce/pictures.h"
#include "harness/reproduce/shared_rows.h"
#include "reports/statistics/quantile.h"

namespace thinpipe {
namespace {

// Of the first worker at 0.001, where methods differ most.
ReproductionPicture kept_over_steps(const std::vector<ArmRecords>& arms) {
  constexpr std::size_t kWindow = 20;
  ReproductionPicture picture =
      empty_picture("kept", "Running mean of k-hat over k at ratio 0.001, by step", "step",
                    "k-hat over k, running mean of 20 steps", false);
  picture.chart.y.is_log = true;
  picture.chart.reference_lines = {1};
  for (const ArmRecords& arm : arms)
    for (const Point& point : arm.records.points) {
      if (!point.id.ends_with("|*") || spec_value(point.axes.compressor, "ratio", "") != "0.001")
        continue;
      const auto ranks = point.at.value("rank", std::vector<double>());
      const std::vector<double> kept = point.samples("quality");
      std::vector<double> first;
      for (std::size_t i = 0; i < std::min(kept.size(), ranks.size()); ++i)
        if (ranks[i] == 0) first.push_back(std::max(kept[i], 1e-4));
      add_line(picture, point.axes.method + spec_value(point.axes.compressor, "dist", " "),
               running_mean(first, kWindow));
    }
  return picture;
}

}  // namespace

Recipe sidco_figure_9() {
  Recipe recipe;
  ReproductionPlan& plan = recipe.plan;
  plan.name = "sidco-fig9";
  plan.title = "how many elements are sent against how many were asked";
  plan.source =
      "Abdelmoniem et al., SIDCo (2021), fig. 9 and app. E.1: k-hat over k through trainings at "
      "0.1, 0.01 and 0.001. SIDCo and DGC stay near 1 (SIDCo-GP at most 2); RedSync and GaussianK "
      "are off by up to 60 times, and swing.";
  plan.here =
      "Captured gradients of a ResNet-20, replayed with error feedback through each compressor, a "
      "value a worker: the mean over steps of k-hat over k, and by what factor a step was off.";
  plan.differences = {
      "Recorded steps come again and again, so that the adaptation has time; a training's change "
      "slowly.",
      "The network is small: layers of 16 elements have a k of 1, where one more is off by twice. "
      "All layers are counted together."};
  plan.columns = {columns::kept("quality"), columns::off_by()};
  add_sidco_rows(recipe, "quality", "memory=residual", true);
  for (const char* ratio : kSidcoRatios) {
    const auto row = [ratio](const char* method) { return std::string(method) + " " + ratio; };
    for (const char* method : {"DGC", "SIDCo-E", "SIDCo-GP", "SIDCo-P"})
      plan.expectations.push_back({.says = row(method) + " meets k on average",
                                   .arm = row(method),
                                   .least = 0.8,
                                   .most = std::string(method) == "SIDCo-GP" ? 2 : 1.2,
                                   .bounded = Bounded::kValue});
    for (const char* method : {"RedSync", "GaussianK"})
      plan.expectations.push_back({.says = row(method) + " is farther off than SIDCo-E",
                                   .arm = row(method),
                                   .than = row("SIDCo-E"),
                                   .least = 1.2,
                                   .bounded = Bounded::kRatio,
                                   .column = "off by"});
  }
  plan.picture = kept_over_steps;
  recipe.needs = {.training = true, .disk = 100e6};
  const auto quality = [&](const char* steps) {
    std::vector<std::string> words{"quality", "--trace", captured_trace(plan.name), "--steps",
                                   steps};
    const std::vector<std::string> compressors = sidco_compressors("memory=residual", true);
    words.insert(words.end(), compressors.begin(), compressors.end());
    return words;
  };
  recipe.arms = {
      capture_resnet20({"-w", "4", "--record", "20"}, {"-w", "2", "--record", "4", "--every", "3"}),
      {.label = "quality", .full = quality("600"), .quick = quality("100")}};
  recipe.full_minutes = 8;
  recipe.quick_seconds = 60;
  return recipe;
}

}  // namespace thinpipe
