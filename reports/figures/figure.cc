// Panels of figures, and their data.
#include "reports/figures/figure.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "base/text.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

constexpr int kDigits = 6;  // more than the accuracy of any of these values

std::string data_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.{}g}", value, kDigits) : "";
}

struct DataRow {
  std::string panel, series, x;
  double y = 0;
  std::optional<Interval> interval = {};
  bool is_trusted = true;
};

std::string data_line(const DataRow& row) {
  return fmt::format("{},{},{},{},{},{},{}\n", escape_csv(row.panel), escape_csv(row.series), row.x,
                     data_number(row.y), row.interval ? data_number(row.interval->low) : "",
                     row.interval ? data_number(row.interval->high) : "",
                     row.is_trusted ? "yes" : "no");
}

// @param axes  of the data
void add_drawn(Figure& figure, const std::string& title, std::string svg, const std::string& data,
               const std::string& axes) {
  if (svg.empty()) return;
  figure.panels.push_back({title, std::move(svg)});
  figure.data += data;
  add_once(figure.axes, axes);
}

}  // namespace

std::string figure_data(const std::string& panel, const Chart& chart) {
  std::string text;
  for (const Curve& curve : chart.curves)
    for (const ChartPoint& point : curve.points)
      text += data_line(
          {panel, curve.name, data_number(point.x), point.y, point.interval, point.is_trusted});
  for (const Mark& mark : chart.marks)
    text += data_line(
        {panel, mark.tooltip.substr(0, mark.tooltip.find('\n')), data_number(mark.x), mark.y});
  return text;
}

std::string figure_data(const std::string& panel, const BarChart& chart) {
  std::string text;
  for (const Bar& bar : chart.bars) {
    double start = 0;
    for (const BarPart& part : bar.parts) {
      if (!part.is_gap && part.length > 0)
        text += data_line({panel, bar.label + (part.name.empty() ? "" : ": " + part.name),
                           data_number(start), part.length, std::nullopt, bar.is_trusted});
      start += part.length;
    }
  }
  return text;
}

std::string figure_data(const std::string& panel, const BoxChart& chart) {
  std::string text;
  for (const BoxRow& row : chart.rows)
    text += data_line({panel, row.label, "", row.middle, row.box, row.is_trusted});
  return text;
}

void add_panel(Figure& figure, const std::string& title, const Chart& chart) {
  add_drawn(figure, title, draw_chart(chart), figure_data(title, chart),
            "x " + chart.x.label + ", y " + chart.y.label);
}

void add_panel(Figure& figure, const std::string& title, const BarChart& chart) {
  add_drawn(figure, title, draw_bars(chart), figure_data(title, chart), "y " + chart.label);
}

void add_panel(Figure& figure, const std::string& title, const BoxChart& chart) {
  add_drawn(figure, title, draw_boxes(chart), figure_data(title, chart), "y " + chart.axis.label);
}

std::string panel_id(const Figure& figure) {
  return figure.id + "-" + std::to_string(figure.panels.size());
}

std::vector<Figure> with_panels(std::vector<Figure> figures) {
  std::erase_if(figures, [](const Figure& figure) { return figure.panels.empty(); });
  return figures;
}

}  // namespace thinpipe
