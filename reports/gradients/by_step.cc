// Distances, decay and similarity over the steps.
#include <cmath>
#include <functional>
#include <utility>

#include "reports/figures/build.h"
#include "reports/figures/style.h"
#include "reports/gradients/figures.h"
#include "reports/gradients/marks.h"
#include "reports/text/units.h"

namespace thinpipe::figures {
namespace {

constexpr std::size_t kMostMarkers = 60;

Chart step_chart(const Figure& figure, const std::string& label, const std::string& alt) {
  Chart chart;
  chart.id = figure.id + "-" + std::to_string(figure.panels.size());
  chart.alt = alt;
  chart.x = {"training step", false, format_step, {}, {}};
  chart.y = {label, false, format_number, {}, {}};
  return chart;
}

/// A curve over steps; what is not finite is left out.
template <class Step>
Curve step_curve(std::size_t style, const std::string& name, const std::vector<Step>& steps,
                 const std::function<double(const Step&)>& value) {
  Curve curve{style, steps.size() <= kMostMarkers, true, {}};
  for (const Step& step : steps) {
    const double y = value(step);
    curve.points.push_back(
        {static_cast<double>(step.step), y, std::nullopt, true,
         name + ", step " + std::to_string(step.step) + "\n" + format_number(y)});
  }
  return curve;
}

std::string feedback_title(bool feedback) {
  return feedback ? "with error feedback" : "without error feedback";
}

}  // namespace

Figure fits_by_step(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  Figure figure{"fits", "How far the fits are off, by step", "", {}, {}};
  figure.caption =
      "Kolmogorov-Smirnov distance of each fit, " + unit.title + "; 0 would be a perfect one.";
  for (const bool feedback : {false, true}) {
    Chart chart = step_chart(figure, "distance",
                             "Distances of the fits by step, " + feedback_title(feedback));
    chart.y.include = {0.0};
    for (std::size_t i = 0; i < kFitNames.size(); ++i) {
      chart.curves.push_back(
          step_curve<StatsMeans>(i + 1, kFitNames[i], (feedback ? unit.feedback : unit.plain).steps,
                                 [i](const StatsMeans& step) { return step.distances[i]; }));
    }
    add_panel(figure, feedback_title(feedback), chart);
  }
  for (std::size_t i = 0; i < kFitNames.size(); ++i)
    figure.legend.push_back({marker_svg(i + 1), kFitNames[i]});
  return figure;
}

Figure decay_by_step(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  Figure figure{"decay-steps", "Decay and best-k error, by step", "", {}, {}};
  figure.caption = "Left: the power law's exponent p, " + unit.title +
                   "; above the dashed line a gradient counts as compressible. Others: norm of all "
                   "but the k largest over the norm.";
  Chart exponent = step_chart(figure, "p", "Decay exponent by step");
  exponent.y.include = {0.5};
  exponent.reference_lines = {0.5};
  for (const bool feedback : {false, true}) {
    exponent.curves.push_back(step_curve<StatsMeans>(
        feedback ? 2 : 1, feedback_title(feedback), (feedback ? unit.feedback : unit.plain).steps,
        [](const StatsMeans& step) { return step.p; }));
    if (feedback && unit.feedback.empty()) continue;
    figure.legend.push_back({marker_svg(feedback ? 2 : 1), feedback_title(feedback)});
  }
  add_panel(figure, "decay exponent", exponent);
  for (std::size_t i = 0; i < summary.records->ratios.size(); ++i) {
    const std::string kept = "largest " + format_percent(summary.records->ratios[i]) + " kept";
    Chart chart = step_chart(figure, "best-k error", "Best-k error by step, " + kept);
    chart.y.include = {0.0, 1.0};
    for (const bool feedback : {false, true}) {
      chart.curves.push_back(step_curve<StatsMeans>(
          feedback ? 2 : 1, feedback_title(feedback), (feedback ? unit.feedback : unit.plain).steps,
          [i](const StatsMeans& step) { return step.best_k_errors[i]; }));
    }
    add_panel(figure, kept, chart);
  }
  return figure;
}

Figure similarity_by_step(const StatsSummary& summary) {
  const StatsUnit& unit = summary.main();
  Figure figure{"alike", "How alike workers and steps are", "", {}, {}};
  const std::string top = format_percent(summary.records->overlap_ratio);
  figure.caption = "Cosine, and share of the places of the largest " + top +
                   " in common, means over the ranks, " + unit.title +
                   ". A step is compared with the one looked at before it.";
  const auto panel = [&](const StatsAlike& alike, const std::string& title) {
    Chart chart = step_chart(figure, "cosine, share in common", "Similarity of " + title);
    chart.y.include = {0.0};
    chart.curves = {
        step_curve<StatsAlikeMeans>(1, "cosine", alike.steps,
                                    [](const StatsAlikeMeans& step) { return step.cosine; }),
        step_curve<StatsAlikeMeans>(2, "in common", alike.steps,
                                    [](const StatsAlikeMeans& step) { return step.overlap; })};
    add_panel(figure, title, chart);
  };
  panel(unit.workers, "neighbouring workers");
  panel(unit.steps, "successive steps");
  figure.legend = {{marker_svg(1), "cosine"}, {marker_svg(2), "largest " + top + " in common"}};
  return figure;
}

}  // namespace thinpipe::figures
