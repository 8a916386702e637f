// What a compressor keeps: estimation quality over time and how it spreads, error against bytes.
#include <algorithm>
#include <cmath>

#include "reports/figures/build.h"
#include "reports/figures/dots.h"
#include "reports/statistics/quantile.h"
#include "reports/text/units.h"

namespace thinpipe::figures {
namespace {

// Neither depends on the link, so the first rate that has the metric, and can be trusted if any
// can, stands for all.
const Cell* first_cell_with(const Series& series, const std::string& metric) {
  const Cell* found = nullptr;
  for (const Cell& cell : series.cells) {
    if (cell.repeats(metric).empty()) continue;
    if (cell.status == Status::kOk) return &cell;
    if (found == nullptr) found = &cell;
  }
  return found;
}

std::vector<double> pooled_samples(const Cell& cell, const std::string& metric) {
  std::vector<double> all;
  for (const std::vector<double>& repeat : cell.repeats(metric))
    all.insert(all.end(), repeat.begin(), repeat.end());
  return all;
}

bool spans_factor(const std::vector<Curve>& curves, double factor) {
  double least = INFINITY, most = 0;
  for (const Curve& curve : curves) {
    for (const ChartPoint& point : curve.points) {
      if (!std::isfinite(point.y)) continue;
      least = std::min(least, point.y);
      most = std::max(most, point.y);
    }
  }
  return least > 0 && most > factor * least;
}

constexpr double kLogarithmicFrom = 4;  // RedSync and GaussianK can be off by factors of ten

// A quarter of the steps, ten at most: wide enough to smooth, too narrow to hide a drift.
std::size_t window_of(std::size_t steps) { return std::clamp<std::size_t>(steps / 4, 1, 10); }

// When each step ended, s since the first began; as many as there are samples, or none.
std::vector<double> ends_of_steps(const Point& point, std::size_t count) {
  const std::vector<double> steps = point.samples("step_time");
  if (steps.size() != count) return {};
  std::vector<double> ends;
  double now = 0;
  for (const double step : steps) ends.push_back(now += step);
  return ends;
}

Chart quality_by_time(const Group& group, const std::string& id) {
  Chart chart;
  chart.id = id + "-time";
  chart.alt = "Running mean of k-hat over k against time for each compressor, " + group.title;
  chart.x = {"time since the first measured step", false, format_time, {0.0}, {}};
  chart.y = {"k\xcc\x82/k, running mean", false, format_number, {1.0}, {}};
  chart.reference_lines = {1.0};
  for (const Series& series : group.series) {
    const Point* point = first_point_with(series, "quality");
    if (point == nullptr) continue;
    const std::vector<double> smooth =
        running_mean(point->samples("quality"), window_of(point->samples("quality").size()));
    const std::vector<double> ends = ends_of_steps(*point, smooth.size());
    if (ends.empty()) continue;
    Curve curve = step_curve(series, *point, smooth,
                             [](double value) { return "k\xcc\x82/k = " + format_number(value); });
    for (ChartPoint& shown : curve.points) shown.x = ends.at(static_cast<std::size_t>(shown.x) - 1);
    chart.curves.push_back(std::move(curve));
  }
  chart.y.is_log = spans_factor(chart.curves, kLogarithmicFrom);
  return chart;
}

BoxChart quality_spread(const Group& group, const std::string& id) {
  BoxChart chart;
  chart.id = id + "-spread";
  chart.alt = "Distribution of k-hat over k over the steps, medians, " + group.title;
  chart.axis = {"k\xcc\x82/k of single steps", false, format_number, {1.0}, {}};
  chart.reference_lines = {1.0};
  double least = INFINITY, most = 0;
  for (const Series& series : group.series) {
    const Cell* cell = first_cell_with(series, "quality");
    if (cell == nullptr) continue;
    const std::vector<double> all = pooled_samples(*cell, "quality");
    const Interval half = {quantile(all, 0.25), quantile(all, 0.75)};
    const Interval most_of = {quantile(all, 0.05), quantile(all, 0.95)};
    least = std::min(least, most_of.low);
    most = std::max(most, most_of.high);
    chart.rows.push_back({.label = series.label,
                          .style = series.style,
                          .middle = median(all),
                          .box = half,
                          .whiskers = most_of,
                          .is_trusted = cell->status == Status::kOk,
                          .tooltip = series.label + "\nmedian " + format_number(median(all)) +
                                     "\nhalf of the steps: " + format_number(half.low) + " to " +
                                     format_number(half.high) +
                                     "\n90 % of them: " + format_number(most_of.low) + " to " +
                                     format_number(most_of.high)});
  }
  chart.axis.is_log = least > 0 && most > kLogarithmicFrom * least;
  return chart;
}

}  // namespace

const Point* first_point_with(const Series& series, const std::string& metric) {
  const Cell* cell = first_cell_with(series, metric);
  if (cell == nullptr) return nullptr;
  for (const Point* point : cell->used)
    if (!point->samples(metric).empty()) return point;
  return nullptr;
}

Curve step_curve(const Series& series, const Point& point, const std::vector<double>& values,
                 const std::function<std::string(double)>& told) {
  // More points than the drawing has pixels for would only make the page heavy.
  constexpr std::size_t kMostPoints = 240;
  constexpr std::size_t kMostTooltips = 40;
  constexpr std::size_t kMostMarkers = 60;
  Curve curve{series.style, values.size() <= kMostMarkers, true, {}, series.label};
  const std::size_t stride =
      std::max<std::size_t>((values.size() + kMostPoints - 1) / kMostPoints, 1);
  const std::size_t drawn = (values.size() + stride - 1) / stride;
  const std::size_t tooltip_every =
      std::max<std::size_t>((drawn + kMostTooltips - 1) / kMostTooltips, 1);
  for (std::size_t i = 0; i < drawn; ++i) {
    const std::size_t step = i * stride;
    const std::string tooltip =
        i % tooltip_every != 0
            ? ""
            : series.label + ", step " + std::to_string(step + 1) + "\n" + told(values[step]);
    curve.points.push_back({static_cast<double>(step + 1), values[step], std::nullopt,
                            point.status == Status::kOk, tooltip});
  }
  return curve;
}

Figure quality(const Group& group, const std::string& id) {
  Figure figure{id + "-quality", "Estimation quality", "", {}, {}};
  std::size_t window = 1;
  for (const Series& series : group.series)
    if (const Point* point = first_point_with(series, "quality"))
      window = std::max(window, window_of(point->samples("quality").size()));
  figure.caption =
      "Elements sent over elements asked for, k\xcc\x82/k, summed over the tensors, mean over the "
      "ranks; 1 is on target. Against time: running mean over " +
      std::to_string(window) + (window == 1 ? " step" : " steps") +
      ", first trusted repeat at the lowest link rate (SIDCo's figure 9 has the same of "
      "trainings). Distribution over the steps of all repeats there: the box holds half of them, "
      "the line 90 %. Methods without a target number of elements are left out.";
  const Chart by_time = quality_by_time(group, figure.id);
  figure.legend = series_legend(group, by_time.curves);
  add_panel(figure, "Against time", by_time);
  add_panel(figure, "Distribution over the steps", quality_spread(group, figure.id));
  return figure;
}

Figure error_and_bytes(const Group& group, const std::string& id) {
  Figure figure{id + "-error", "Relative error against payload", "", {}, {}};
  figure.caption =
      "Norm of decoded minus input over norm of input, against the bytes one rank encodes for a "
      "step. Medians over the steps; bars hold 90 % of the steps. Lower left is better; what lies "
      "above and right of the dashed line sends more and is farther off than some other.";
  DotChart dots;
  dots.id = figure.id;
  dots.alt = "Relative error against payload bytes, " + group.title;
  dots.x = {"payload of a step and rank", true, format_bytes, {}, {}};
  dots.y = {"relative error", false, format_number, {0.0}, {}};
  dots.has_front = true;
  for (const Series& series : group.series) {
    const Cell* cell = first_cell_with(series, "relative_error");
    if (cell == nullptr) continue;
    const std::optional<double> payload = cell->median_of_metric("payload_bytes");
    if (!payload) continue;
    const std::vector<double> errors = pooled_samples(*cell, "relative_error");
    dots.dots.push_back({.name = series.label,
                         .style = series.style,
                         .x = *payload,
                         .y = median(errors),
                         .y_interval = Interval{quantile(errors, 0.05), quantile(errors, 0.95)},
                         .is_trusted = cell->status == Status::kOk,
                         .tooltip = series.label + "\nrelative error " +
                                    format_number(median(errors)) + "\npayload " +
                                    format_bytes(*payload)});
  }
  const Chart chart = dots_chart(dots);
  figure.legend = series_legend(group, chart.curves);
  add_panel(figure, "", chart);
  return figure;
}

}  // namespace thinpipe::figures
