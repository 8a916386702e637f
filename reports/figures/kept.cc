// What a compressor keeps: estimation quality over the steps, error against bytes.
#include <algorithm>
#include <cmath>

#include "reports/figures/build.h"
#include "reports/statistics/quantile.h"
#include "reports/text/units.h"

namespace thinpipe::figures {
namespace {

// Neither depends on the link, so the first rate that has the metric stands for all.
const Cell* first_cell_with(const Series& series, const std::string& metric) {
  for (const Cell& cell : series.cells) {
    if (!cell.repeats(metric).empty()) return &cell;
  }
  return nullptr;
}

// More points than the drawing has pixels for would only make the page heavy.
constexpr std::size_t kMostPoints = 240;
constexpr std::size_t kMostTooltips = 40;
constexpr std::size_t kMostMarkers = 60;

Curve quality_curve(const Series& series, const Point& point) {
  const std::vector<double>& samples = point.metrics.at("quality").samples;
  Curve curve{series.style, samples.size() <= kMostMarkers, true, {}, series.label};
  const std::size_t stride = (samples.size() + kMostPoints - 1) / kMostPoints;
  const std::size_t drawn = (samples.size() + stride - 1) / std::max<std::size_t>(stride, 1);
  const std::size_t tooltip_every = (drawn + kMostTooltips - 1) / kMostTooltips;
  for (std::size_t i = 0; i < drawn; ++i) {
    const std::size_t step = i * stride;
    const bool has_tooltip = i % tooltip_every == 0;
    const std::string tooltip = series.label + ", step " + std::to_string(step + 1) +
                                "\nk\xcc\x82/k = " + format_number(samples[step]);
    curve.points.push_back({static_cast<double>(step + 1), samples[step], std::nullopt,
                            point.status == Status::kOk, has_tooltip ? tooltip : ""});
  }
  return curve;
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

}  // namespace

Figure quality(const Group& group, const std::string& id) {
  Figure figure{id + "-quality", "Estimation quality over the steps", "", {}, {}};
  figure.caption =
      "Elements sent over elements asked for, k\xcc\x82/k, summed over the tensors, mean over the "
      "ranks; 1 is on target. First repeat at the lowest link rate that was measured; methods "
      "without a target number of elements are left out.";
  Chart chart;
  chart.id = figure.id;
  chart.alt = "Estimation quality k-hat over k at every step for each compressor, " + group.title;
  chart.x = {"step", false, format_number, {}, {}};
  chart.y = {"k\xcc\x82/k", false, format_number, {1.0}, {}};
  chart.reference_lines = {1.0};
  for (const Series& series : group.series) {
    const Cell* cell = first_cell_with(series, "quality");
    if (cell == nullptr) continue;
    const auto point = std::find_if(cell->used.begin(), cell->used.end(),
                                    [](const Point* p) { return !p->samples("quality").empty(); });
    chart.curves.push_back(quality_curve(series, **point));
  }
  constexpr double kLogarithmicFrom = 4;  // RedSync and GaussianK can be off by factors of ten
  chart.y.is_log = spans_factor(chart.curves, kLogarithmicFrom);
  figure.legend = series_legend(group, chart.curves);
  add_panel(figure, "", chart);
  return figure;
}

Figure error_and_bytes(const Group& group, const std::string& id) {
  Figure figure{id + "-error", "Relative error against payload", "", {}, {}};
  figure.caption =
      "Norm of decoded minus input over norm of input, against the bytes one rank encodes for a "
      "step. Medians over the steps; bars hold 90 % of the steps. Lower left is better.";
  Chart chart;
  chart.id = figure.id;
  chart.alt = "Relative error against payload bytes for each compressor, " + group.title;
  chart.x = {"payload of a step and rank", true, format_bytes, {}, {}};
  chart.y = {"relative error", false, format_number, {0.0}, {}};
  for (const Series& series : group.series) {
    const Cell* cell = first_cell_with(series, "relative_error");
    if (cell == nullptr) continue;
    const std::optional<double> payload = cell->median_of_metric("payload_bytes");
    if (!payload) continue;
    std::vector<double> errors;
    for (const std::vector<double>& repeat : cell->repeats("relative_error")) {
      errors.insert(errors.end(), repeat.begin(), repeat.end());
    }
    const double middle = median(errors);
    const Interval spread = {quantile(errors, 0.05), quantile(errors, 0.95)};
    chart.curves.push_back({series.style,
                            true,
                            false,
                            {{*payload, middle, spread, cell->status == Status::kOk,
                              series.label + "\nrelative error " + format_number(middle) +
                                  "\npayload " + format_bytes(*payload)}}});
  }
  figure.legend = series_legend(group, chart.curves);
  add_panel(figure, "", chart);
  return figure;
}

}  // namespace thinpipe::figures
