// Figures of a compressor's estimation quality, error and bytes.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "reports/run/figures.h"
#include "reports/statistics/statistics.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

// Returns the series' cell at the lowest link rate with this metric, preferably a trusted cell.
// Quality and sizes do not depend on the link, so one rate is enough for a figure.
const Cell* first_cell_with(const Series& series, const MetricType& metric) {
  const Cell* found = nullptr;
  for (const Cell& cell : series.cells) {
    if (cell.repeats(metric).empty()) continue;
    if (cell.status == Status::kOk) return &cell;
    if (found == nullptr) found = &cell;
  }
  return found;
}

// Returns the first used point with a sample of the metric, in the cell that first_cell_with()
// returns: at the lowest rate, preferably trusted. Null without any.
const Point* first_point_with(const Series& series, const MetricType& metric) {
  const Cell* cell = first_cell_with(series, metric);
  if (cell == nullptr) return nullptr;
  for (const Point* point : cell->used)
    if (!point->samples(metric).empty()) return point;
  return nullptr;
}

// Returns a curve of `values`, one value per step of the point; steps count from 1. If there are
// too many values to draw, draws every n-th. `told` formats a value for tooltips.
Curve curve_over_steps(const Series& series, const Point& point, const std::vector<double>& values,
                       const std::function<std::string(double)>& told) {
  // More points than the drawing has pixels would only make the page larger.
  constexpr std::size_t kMaxPoints = 240;
  constexpr std::size_t kMaxTooltips = 40;
  constexpr std::size_t kMaxMarkers = 60;
  Curve curve{series.style, values.size() <= kMaxMarkers, true, {}, series.label};
  const std::size_t stride =
      std::max<std::size_t>((values.size() + kMaxPoints - 1) / kMaxPoints, 1);
  const std::size_t drawn = (values.size() + stride - 1) / stride;
  const std::size_t tooltip_every =
      std::max<std::size_t>((drawn + kMaxTooltips - 1) / kMaxTooltips, 1);
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

bool spans_factor(const std::vector<Curve>& curves, double factor) {
  double least = INFINITY, most = 0;
  for (const Curve& curve : curves)
    for (const ChartPoint& point : curve.points) {
      if (!std::isfinite(point.y)) continue;
      least = std::min(least, point.y);
      most = std::max(most, point.y);
    }
  return least > 0 && most > factor * least;
}

constexpr double kLogarithmicFrom = 4;  // RedSync and GaussianK can be off by factors of ten

// Returns the window of a running mean: a quarter of the steps, at most ten steps. Such a window is
// wide enough to smooth the curve and too narrow to hide a drift.
std::size_t window_of(std::size_t steps) { return std::clamp<std::size_t>(steps / 4, 1, 10); }

// Returns the time at which each step ended, in s since the first step began. Empty unless the
// point has exactly `count` step times.
std::vector<double> ends_of_steps(const Point& point, std::size_t count) {
  const std::vector<double> steps = point.samples("step_time"_metric);
  if (steps.size() != count) return {};
  std::vector<double> ends;
  double now = 0;
  for (const double step : steps) ends.push_back(now += step);
  return ends;
}

Chart quality_by_time(const Group& group, const std::string& id) {
  Chart chart{
      .id = id + "-time",
      .alt = "Running mean of k-hat over k against time for each compressor, " + group.title,
      .x = {"time since the first measured step", false, format_time, {0.0}},
      .y = {"k\xcc\x82/k, running mean", false, format_number, {1.0}},
      .reference_lines = {1.0}};
  for (const Series& series : group.series) {
    const Point* point = first_point_with(series, "quality"_metric);
    if (point == nullptr) continue;
    const std::vector<double> quality = point->samples("quality"_metric);
    const std::vector<double> smooth = running_mean(quality, window_of(quality.size()));
    const std::vector<double> ends = ends_of_steps(*point, smooth.size());
    if (ends.empty()) continue;
    Curve curve = curve_over_steps(series, *point, smooth, [](double value) {
      return "k\xcc\x82/k = " + format_number(value);
    });
    for (ChartPoint& shown : curve.points) shown.x = ends.at(static_cast<std::size_t>(shown.x) - 1);
    chart.curves.push_back(std::move(curve));
  }
  chart.y.is_log = spans_factor(chart.curves, kLogarithmicFrom);
  return chart;
}

BoxChart quality_spread(const Group& group, const std::string& id) {
  BoxChart chart{.id = id + "-spread",
                 .alt = "Distribution of k-hat over k over the steps, medians, " + group.title,
                 .axis = {"k\xcc\x82/k of single steps", false, format_number, {1.0}},
                 .reference_lines = {1.0}};
  double least = INFINITY, most = 0;
  for (const Series& series : group.series) {
    const Cell* cell = first_cell_with(series, "quality"_metric);
    if (cell == nullptr) continue;
    const std::vector<double> all = pooled(cell->repeats("quality"_metric));
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
                                     "\n50 % of the steps: " + format_number(half.low) + " to " +
                                     format_number(half.high) +
                                     "\n90 % of the steps: " + format_number(most_of.low) + " to " +
                                     format_number(most_of.high)});
  }
  chart.axis.is_log = least > 0 && most > kLogarithmicFrom * least;
  return chart;
}

}  // namespace

Figure quality_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-quality", "Estimation quality"};
  std::size_t window = 1;
  for (const Series& series : group.series)
    if (const Point* point = first_point_with(series, "quality"_metric))
      window = std::max(window, window_of(point->samples("quality"_metric).size()));
  figure.caption =
      "Sent elements over requested elements, k\xcc\x82/k, summed over the tensors, mean over the "
      "ranks; 1 is on target. Against time: running mean over " +
      counted(window, "step") +
      ", first trusted repeat at the lowest link rate (SIDCo's figure 9 shows the same for "
      "trainings). Distribution over the steps of all repeats at that rate: the box holds 50 % of "
      "the steps, the line 90 %. Methods without a requested number of elements are left out.";
  const Chart by_time = quality_by_time(group, figure.id);
  figure.legend = series_legend(group, by_time.curves);
  add_panel(figure, "Against time", by_time);
  add_panel(figure, "Distribution over the steps", quality_spread(group, figure.id));
  return figure;
}

Figure error_and_bytes_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-error", "Relative error against payload"};
  figure.caption =
      "Norm of decoded minus input over norm of input, against the bytes that one rank encodes per "
      "step. Medians over the steps; bars hold 90 % of the steps. Lower left is better. The dashed "
      "line is the Pareto front: compressors above and right of it are dominated by another.";
  DotChart dots{.id = figure.id,
                .alt = "Relative error against payload bytes, " + group.title,
                .x = {"payload of a step and rank", true, format_bytes},
                .y = {"relative error", false, format_number, {0.0}},
                .has_front = true};
  for (const Series& series : group.series) {
    const Cell* cell = first_cell_with(series, "relative_error"_metric);
    if (cell == nullptr) continue;
    const std::optional<double> payload = cell->median_of_metric("payload_bytes"_metric);
    if (!payload) continue;
    const std::vector<double> errors = pooled(cell->repeats("relative_error"_metric));
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

Figure pareto_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-pareto", "Step time against error"};
  figure.caption =
      "Norm of decoded minus input over norm of input, median over the steps, against the median "
      "step time with its 95 % interval; lower left is better. The dashed line is the Pareto "
      "front: compressors above and right of it are dominated by another. Hollow grey markers are "
      "points that failed their checks. The error of single steps does not predict how training "
      "ends.";
  std::vector<Curve> drawn;
  for (const double rate : panel_rates(group.rates)) {
    DotChart dots{
        .id = panel_id(figure),
        .alt = "Relative error against step time at " + format_rate(rate) + ", " + group.title,
        .x = {"step time", true, format_time},
        .y = {"relative error", false, format_number, {0.0}},
        .has_front = true,
        .width = kPanelWidth};
    for (const Series& series : group.series) {
      const Cell* cell = series.at(rate);
      if (cell == nullptr || !cell->step_time) continue;
      const std::optional<double> error = cell->median_of_metric("relative_error"_metric);
      if (!error) continue;
      dots.dots.push_back({.name = series.label,
                           .style = series.style,
                           .x = cell->step_time->value,
                           .y = *error,
                           .x_interval = cell->step_time->interval,
                           .is_trusted = cell->status == Status::kOk,
                           .tooltip = cell_title(series, *cell) + "\n" +
                                      format_time(cell->step_time->value) + " a step\nerror " +
                                      format_number(*error)});
    }
    const Chart chart = dots_chart(dots);
    add_panel(figure, format_rate(rate), chart);
    drawn.insert(drawn.end(), chart.curves.begin(), chart.curves.end());
  }
  figure.legend = series_legend(group, drawn);
  return figure;
}

Figure sizes_figure(const Group& group, const std::string& id) {
  Figure figure{id + "-sizes", "Compressed size over the steps"};
  figure.caption =
      "Encoded bits per element of the gradient in each step, mean over the ranks; an uncompressed "
      "element has 32. First trusted repeat at the lowest measured link rate (3LC's figure 9 shows "
      "the same over a training).";
  Chart chart{.id = figure.id,
              .alt = "Bits per element by step for each compressor, " + group.title,
              .x = {"step", false, format_number},
              .y = {"bits / element", true, format_number}};
  for (const Series& series : group.series) {
    const Point* point = first_point_with(series, "payload_bytes"_metric);
    if (point == nullptr) continue;
    const std::vector<double> payload = point->samples("payload_bytes"_metric);
    const std::vector<double> dense = point->samples("dense_bytes"_metric);
    if (dense.empty() || !(dense.front() > 0)) continue;
    std::vector<double> bits;
    for (const double bytes : payload) bits.push_back(32 * bytes / dense.front());
    chart.curves.push_back(curve_over_steps(
        series, *point, bits, [](double value) { return format_number(value) + " bits"; }));
  }
  figure.legend = series_legend(group, chart.curves);
  add_panel(figure, "", chart);
  return figure;
}

}  // namespace thinpipe
