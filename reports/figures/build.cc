// What the builders of single figures share.
#include "reports/figures/build.h"

#include <algorithm>

#include "reports/figures/data.h"
#include "reports/figures/style.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace figures {

std::string cell_title(const Series& series, const Cell& cell) {
  std::string title = series.label + " at " + format_rate(cell.rate);
  if (cell.status == Status::kInvalid) {
    title += "\ninvalid";
    if (!cell.used.empty() && !cell.used[0]->reasons.empty())
      title += ": " + cell.used[0]->reasons[0];
  }
  return title;
}

std::string cell_basis(const Cell& cell) {
  const std::size_t repeats = cell.used.size();
  return std::to_string(cell.steps) + (cell.steps == 1 ? " step in " : " steps in ") +
         std::to_string(repeats) + (repeats == 1 ? " repeat" : " repeats");
}

Axis rate_axis(const Group& group) {
  Axis axis;
  axis.label = "link rate";
  axis.is_log = true;
  axis.format = format_rate;
  // Measured rates are better ticks than round ones, as long as there is room for them.
  constexpr std::size_t kMostRateTicks = 7;
  if (group.rates.size() <= kMostRateTicks) axis.ticks = group.rates;
  return axis;
}

std::vector<double> panel_rates(const std::vector<double>& rates) {
  constexpr std::size_t kMostPanels = 6;
  if (rates.size() <= kMostPanels) return rates;
  std::vector<double> spread;
  for (std::size_t i = 0; i < kMostPanels; ++i)
    spread.push_back(rates[i * (rates.size() - 1) / (kMostPanels - 1)]);
  return spread;
}

std::vector<double> panel_rates(const Group& group) { return panel_rates(group.rates); }

std::vector<LegendEntry> series_legend(const Group& group, const std::vector<Curve>& curves) {
  std::vector<LegendEntry> legend;
  for (const Series& series : group.series) {
    const bool is_drawn = std::any_of(curves.begin(), curves.end(), [&](const Curve& curve) {
      return curve.style == series.style && !curve.points.empty();
    });
    const bool is_line = std::any_of(curves.begin(), curves.end(),
                                     [](const Curve& curve) { return curve.has_line; });
    if (is_drawn)
      legend.push_back(
          {is_line ? line_marker_svg(series.style) : marker_svg(series.style), series.label});
  }
  return legend;
}

namespace {

struct Drawn {
  std::string svg, data;
  std::string axes;  // of the data
};

void add_drawn(Figure& figure, const std::string& title, Drawn drawn) {
  if (drawn.svg.empty()) return;
  figure.panels.push_back({title, std::move(drawn.svg)});
  figure.data += drawn.data;
  if (std::find(figure.axes.begin(), figure.axes.end(), drawn.axes) == figure.axes.end())
    figure.axes.push_back(std::move(drawn.axes));
}

}  // namespace

void add_panel(Figure& figure, const std::string& title, const Chart& chart) {
  add_drawn(figure, title,
            {draw_chart(chart), figure_data(title, chart),
             "x " + chart.x.label + ", y " + chart.y.label});
}

void add_panel(Figure& figure, const std::string& title, const BarChart& chart) {
  add_drawn(figure, title, {draw_bars(chart), figure_data(title, chart), "y " + chart.label});
}

void add_panel(Figure& figure, const std::string& title, const BoxChart& chart) {
  add_drawn(figure, title, {draw_boxes(chart), figure_data(title, chart), "y " + chart.axis.label});
}

}  // namespace figures

std::vector<Figure> group_figures(const Group& group, const std::string& id) {
  using Builder = Figure (*)(const Group&, const std::string&);
  std::vector<Figure> result;
  for (const Builder build :
       {figures::step_time, figures::speedup, figures::pareto, figures::error_and_bytes,
        figures::exposed, figures::parts, figures::waits, figures::predicted, figures::quality,
        figures::sizes, figures::latency, figures::timeline}) {
    Figure figure = build(group, id);
    if (!figure.panels.empty()) result.push_back(std::move(figure));
  }
  return result;
}

}  // namespace thinpipe
