// Densities and tails of magnitudes with what was fitted to them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/figures/build.h"
#include "reports/figures/style.h"
#include "reports/gradients/figures.h"
#include "reports/gradients/marks.h"
#include "reports/text/units.h"

namespace thinpipe::figures {
namespace {

constexpr std::size_t kMostTensors = 6;

/// Leaves out points whose markers would cover their neighbour's; both ends stay.
void thin_out(Curve& curve, bool is_log_x) {
  if (curve.points.size() < 3) return;
  const auto x_of = [&](const ChartPoint& p) { return is_log_x ? std::log(p.x) : p.x; };
  const auto y_of = [](const ChartPoint& p) { return std::log(p.y); };  // all axes of y are so
  double low = INFINITY, high = -INFINITY;
  for (const ChartPoint& point : curve.points) {
    low = std::min(low, y_of(point));
    high = std::max(high, y_of(point));
  }
  const double width = x_of(curve.points.back()) - x_of(curve.points.front());
  constexpr double kNearest = 1.0 / 45;  // of an axis; a marker is half as wide
  std::vector<ChartPoint> kept = {curve.points.front()};
  for (const ChartPoint& point : curve.points) {
    const double across = (x_of(point) - x_of(kept.back())) / width;
    const double along = (y_of(point) - y_of(kept.back())) / std::max(high - low, 1e-9);
    if (std::hypot(across, along) >= kNearest) kept.push_back(point);
  }
  curve.points = std::move(kept);
}

/// Points of the data under style 0 and of every fit under its own.
template <class Add>
std::vector<Curve> curves_of(const StatsGradient& gradient, bool is_log_x, Add add) {
  std::vector<Curve> curves = {{0, true, false, {}}};
  add(curves[0], gradient.points->empirical, "data");
  thin_out(curves[0], is_log_x);
  for (std::size_t i = 0; i < kFitNames.size(); ++i) {
    if (!std::isfinite(gradient.distances[i])) continue;
    curves.push_back({i + 1, false, true, {}});
    add(curves.back(), gradient.points->fitted[i], kFitNames[i]);
  }
  return curves;
}

std::string at_magnitude(const std::string& who, double x, double y) {
  return who + "\nmagnitude over norm " + format_number(x) + "\n" + format_number(y);
}

/// Shares of the intervals between neighbouring points over their lengths.
std::vector<Curve> density_curves(const StatsGradient& gradient) {
  const std::vector<double>& x = gradient.points->x;
  double least = INFINITY;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double share = gradient.points->empirical[i] - gradient.points->empirical[i - 1];
    if (share > 0 && x[i] > x[i - 1]) least = std::min(least, share / (x[i] - x[i - 1]));
  }
  return curves_of(
      gradient, /*is_log_x=*/false,
      [&](Curve& curve, const std::vector<double>& below, const std::string& who) {
        for (std::size_t i = 1; i < x.size(); ++i) {
          const double density = (below[i] - below[i - 1]) / (x[i] - x[i - 1]);
          const double middle = (x[i] + x[i - 1]) / 2;
          // A fit without a tail would take the axis down to where there is no data.
          constexpr double kRoomBelow = 0.1;
          if (!(density >= kRoomBelow * least)) continue;
          const bool has_tooltip = curve.has_markers;
          curve.points.push_back({middle, density, std::nullopt, true,
                                  has_tooltip ? at_magnitude(who, middle, density) : ""});
        }
      });
}

std::vector<Curve> tail_curves(const StatsGradient& gradient) {
  const StatsPoints& points = *gradient.points;
  const double least = gradient.elements > 0 ? 0.1 / gradient.elements : 0;
  return curves_of(
      gradient, /*is_log_x=*/true,
      [&](Curve& curve, const std::vector<double>& below, const std::string& who) {
        for (std::size_t i = 0; i < points.x.size(); ++i) {
          const double beyond = 1 - below[i];
          // Thresholds lie among the larger half.
          if (!(beyond >= least && points.empirical[i] >= 0.5)) continue;
          const bool has_tooltip = curve.has_markers;
          curve.points.push_back({points.x[i], beyond, std::nullopt, true,
                                  has_tooltip ? at_magnitude(who, points.x[i], beyond) : ""});
        }
      });
}

Chart magnitude_chart(const Figure& figure, std::size_t panel, const std::string& alt) {
  Chart chart;
  chart.id = figure.id + "-" + std::to_string(panel);
  chart.alt = alt;
  chart.x = {"magnitude over the gradient's norm", false, format_tick, {}, {}};
  chart.y = {"", true, format_tick, {}, {}};
  return chart;
}

}  // namespace

Figure densities(const StatsSummary& summary) {
  Figure figure{"density", "How magnitudes are distributed, and what was fitted", "", {}, {}};
  figure.caption =
      "Share of the elements over the length of the interval that holds them (data: points; fits: "
      "lines), " +
      summary.main().title + ", rank looked at first. SIDCo, figures 2 and 8.";
  for (const auto& [title, gradient] : drawn_gradients(summary.main())) {
    Chart chart = magnitude_chart(figure, figure.panels.size(),
                                  "Density of magnitudes with four fits, " + title);
    chart.y.label = "density";
    chart.curves = density_curves(*gradient);
    add_panel(figure, title, chart);
  }
  figure.legend = fit_legend();
  return figure;
}

Figure tails(const StatsSummary& summary) {
  Figure figure{"tail", "What lies beyond a magnitude", "", {}, {}};
  figure.caption =
      "Share of the elements that are larger, both axes logarithmic: a compressor that sends 0.1 % "
      "sets its threshold where the curve is at 0.001, and a fit that lies above the data there "
      "sets it too high. Of the " +
      summary.main().title + ", rank looked at first.";
  for (const auto& [title, gradient] : drawn_gradients(summary.main())) {
    Chart chart = magnitude_chart(figure, figure.panels.size(),
                                  "Share of elements beyond a magnitude with four fits, " + title);
    chart.x.is_log = true;
    chart.y.label = "share beyond";
    chart.curves = tail_curves(*gradient);
    add_panel(figure, title, chart);
  }
  figure.legend = fit_legend();
  return figure;
}

Figure tensor_densities(const StatsSummary& summary) {
  Figure figure{"tensors", "The largest tensors", "", {}, {}};
  std::vector<const StatsUnit*> units;
  for (const StatsUnit& unit : summary.units)
    if (&unit != &summary.main() && unit.plain.last != nullptr) units.push_back(&unit);
  std::stable_sort(units.begin(), units.end(), [](const StatsUnit* a, const StatsUnit* b) {
    return a->elements > b->elements;
  });
  if (units.size() > kMostTensors) units.resize(kMostTensors);
  figure.caption =
      "As above, of the tensors with the most elements, in the last step without error feedback.";
  for (const StatsUnit* unit : units) {
    Chart chart = magnitude_chart(figure, figure.panels.size(),
                                  "Density of magnitudes with four fits, " + unit->title);
    chart.y.label = "density";
    chart.curves = density_curves(*unit->plain.last);
    add_panel(figure, unit->title, chart);
  }
  figure.legend = fit_legend();
  return figure;
}

}  // namespace thinpipe::figures
