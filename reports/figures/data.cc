// The values behind a drawing.
#include "reports/figures/data.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "reports/text/escape.h"

namespace thinpipe {
namespace {

constexpr int kDigits = 6;  // more than any of these values is known to

std::string data_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.{}g}", value, kDigits) : "";
}

struct DataRow {
  std::string panel, series, x;
  double y = 0;
  std::optional<Interval> interval;
  bool is_trusted = true;
};

std::string data_line(const DataRow& row) {
  return fmt::format("{},{},{},{},{},{},{}\n", escape_csv(row.panel), escape_csv(row.series), row.x,
                     data_number(row.y), row.interval ? data_number(row.interval->low) : "",
                     row.interval ? data_number(row.interval->high) : "",
                     row.is_trusted ? "yes" : "no");
}

}  // namespace

std::string figure_data(const std::string& panel, const Chart& chart) {
  std::string text;
  for (const Curve& curve : chart.curves)
    for (const ChartPoint& point : curve.points)
      text += data_line(
          {panel, curve.name, data_number(point.x), point.y, point.interval, point.is_trusted});
  for (const Mark& mark : chart.marks)
    text += data_line({panel,
                       mark.tooltip.substr(0, mark.tooltip.find('\n')),
                       data_number(mark.x),
                       mark.y,
                       {},
                       true});
  return text;
}

std::string figure_data(const std::string& panel, const BarChart& chart) {
  std::string text;
  for (const Bar& bar : chart.bars) {
    double start = 0;
    for (const BarPart& part : bar.parts) {
      if (!part.is_gap && part.length > 0)
        text += data_line({panel,
                           bar.label + (part.name.empty() ? "" : ": " + part.name),
                           data_number(start),
                           part.length,
                           {},
                           bar.is_trusted});
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

}  // namespace thinpipe
