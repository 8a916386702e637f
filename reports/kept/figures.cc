#include "reports/kept/figures.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "reports/figures/build.h"
#include "reports/figures/style.h"
#include "reports/gradients/marks.h"
#include "reports/summary/label.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

constexpr std::size_t kMarkedSteps = 60;  // with more, lines alone

std::string quality_text(const MeanInterval& quality) {
  std::string text = format_number(quality.mean);
  if (quality.interval)
    text += " (90 %: " + format_number(quality.interval->low) + " to " +
            format_number(quality.interval->high) + ")";
  return text + ", " + std::to_string(quality.samples) + " steps";
}

// A curve a family, over its ratios.
Figure quality_by_ratio(const KeptSummary& summary) {
  Figure figure{"estimation", "How well the threshold is estimated", "", {}, {}};
  figure.caption =
      "Elements sent over elements asked for, mean over the steps; bars are the 90 % interval of "
      "that mean by Student's t. Below the dashed line too few are sent, above it too many.";
  std::vector<std::string> families;
  for (const KeptRow& row : summary.totals) {
    if (!row.quality || !(row.ratio > 0)) continue;
    if (std::find(families.begin(), families.end(), row.family) == families.end())
      families.push_back(row.family);
  }
  const std::vector<std::string> labels = short_labels(families);
  Chart chart;
  chart.id = figure.id + "-0";
  chart.alt = "Elements sent over elements asked for against the ratio, for each compressor";
  chart.x = {"ratio asked for", true, figures::format_tick, {}, {}};
  chart.y = {"sent over asked", true, format_number, {1.0}, {}};
  chart.reference_lines = {1.0};
  for (std::size_t i = 0; i < families.size(); ++i) {
    Curve curve{i + 1, true, true, {}};
    for (const KeptRow& row : summary.totals) {
      if (row.family != families[i] || !row.quality || !(row.ratio > 0)) continue;
      curve.points.push_back({row.ratio, row.quality->mean, row.quality->interval, true,
                              row.spec + "\n" + quality_text(*row.quality)});
    }
    std::sort(curve.points.begin(), curve.points.end(),
              [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
    chart.curves.push_back(std::move(curve));
    figure.legend.push_back({marker_svg(i + 1), labels[i]});
  }
  figures::add_panel(figure, "", chart);
  return figure;
}

// A curve a compressor, over the steps: its k-hat / k, its error, its drift.
Figure kept_by_step(const KeptSummary& summary) {
  Figure figure{"kept-steps", "What is kept, by step", "", {}, {}};
  figure.caption =
      "Means over the ranks, all tensors together. Error: distance of what is decoded from what "
      "was to be sent, over the latter's norm. Drift: distance between the sums of all gradients "
      "and of all that was decoded since the first step, over the former's norm.";
  const auto panel = [&](const std::string& title, bool is_log, double (*value)(const KeptStep&)) {
    Chart chart;
    chart.id = figure.id + "-" + std::to_string(figure.panels.size());
    chart.alt = title + " by step, for each compressor";
    chart.x = {"step", false, figures::format_step, {}, {}};
    chart.y = {title, is_log, format_number, {}, {}};
    if (!is_log) chart.y.include = {0.0};
    for (std::size_t i = 0; i < summary.totals.size(); ++i) {
      const KeptRow& row = summary.totals[i];
      Curve curve{i + 1, row.steps.size() <= kMarkedSteps, true, {}};
      for (const KeptStep& step : row.steps) {
        const double y = value(step);
        if (!std::isfinite(y)) continue;
        curve.points.push_back(
            {step.step, y, std::nullopt, true,
             row.spec + ", step " + figures::format_step(step.step) + "\n" + format_number(y)});
      }
      chart.curves.push_back(std::move(curve));
    }
    figures::add_panel(figure, title, chart);
  };
  panel("sent over asked", true, [](const KeptStep& step) { return step.quality; });
  panel("relative error", false, [](const KeptStep& step) { return step.error; });
  panel("drift", false, [](const KeptStep& step) { return step.drift; });
  for (std::size_t i = 0; i < summary.totals.size(); ++i)
    figure.legend.push_back({marker_svg(i + 1), summary.totals[i].spec});
  return figure;
}

}  // namespace

std::vector<Figure> kept_figures(const KeptSummary& summary) {
  std::vector<Figure> figures;
  for (Figure& figure : std::vector<Figure>{quality_by_ratio(summary), kept_by_step(summary)})
    if (!figure.panels.empty()) figures.push_back(std::move(figure));
  return figures;
}

}  // namespace thinpipe
