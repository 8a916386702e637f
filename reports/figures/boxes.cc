// Rows of markers with intervals, or of boxes with whiskers.
#include "reports/figures/boxes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/figures/canvas.h"
#include "reports/figures/gnuplot.h"
#include "reports/figures/row_label.h"
#include "reports/figures/style.h"
#include "reports/figures/svg.h"

namespace thinpipe {
namespace {

constexpr int kBoxRowHeight = 26;
constexpr Margins kBoxMargins = {152, 18, 8, 52};
constexpr double kHalfBox = 0.26;  // of a row
constexpr double kReachOfTooltip = 0.45;

bool is_drawable(double value, const Axis& axis) {
  return std::isfinite(value) && (!axis.is_log || value > 0);
}

// Without what cannot be drawn.
std::vector<BoxRow> drawable_rows(const BoxChart& chart) {
  std::vector<BoxRow> rows;
  for (BoxRow row : chart.rows) {
    if (!is_drawable(row.middle, chart.axis)) continue;
    for (std::optional<Interval>* interval : {&row.box, &row.whiskers})
      if (*interval && (!is_drawable((*interval)->low, chart.axis) ||
                        !is_drawable((*interval)->high, chart.axis)))
        interval->reset();
    rows.push_back(std::move(row));
  }
  return rows;
}

Range box_range(const Axis& axis, const std::vector<BoxRow>& rows) {
  std::vector<double> values = axis.include;
  for (const BoxRow& row : rows) {
    values.push_back(row.middle);
    for (const std::optional<Interval>& interval : {row.box, row.whiskers}) {
      if (!interval) continue;
      values.push_back(interval->low);
      values.push_back(interval->high);
    }
  }
  return padded_range(values, axis.is_log);
}

void add_row(const BoxRow& row, double y, GnuplotBlocks& plot) {
  const std::string ink =
      stand_in(row.is_trusted ? series_ink(row.style) : static_cast<int>(Ink::kMuted));
  const bool has_box = row.box && row.whiskers;
  const std::optional<Interval>& line = has_box ? row.whiskers : row.box;
  if (line)
    plot.add(fmt::format("{} {} {} {}\n", row.middle, y, line->low, line->high),
             "using 1:2:3:4 with xerrorbars pt 0 lw 1.4 lc " + ink);
  if (has_box)
    plot.add(fmt::format("{} {} {} {} {} {}\n", row.middle, y, row.box->low, row.box->high,
                         y - kHalfBox, y + kHalfBox),
             fmt::format("with boxxyerror fs {} border lc {} lc {}",
                         row.is_trusted ? "transparent solid 0.35" : "empty", ink, ink));
  plot.add(fmt::format("{} {}\n", row.middle, y),
           fmt::format("using 1:2 with points pt {} ps 0.8 lc {}",
                       point_type(row.style, row.is_trusted), ink));
}

}  // namespace

std::string box_sentence(const BoxChart& chart) {
  const std::vector<BoxRow> rows = drawable_rows(chart);
  if (rows.empty() || chart.axis.format == nullptr) return chart.alt;
  const auto [least, most] =
      std::minmax_element(rows.begin(), rows.end(),
                          [](const BoxRow& a, const BoxRow& b) { return a.middle < b.middle; });
  std::string text = chart.alt + ": ";
  if (rows.size() == 1)
    return text + least->label + " at " + chart.axis.format(least->middle) + ".";
  return text + "from " + chart.axis.format(least->middle) + " (" + least->label + ") to " +
         chart.axis.format(most->middle) + " (" + most->label + ").";
}

std::string draw_boxes(const BoxChart& chart) {
  const std::vector<BoxRow> rows = drawable_rows(chart);
  if (rows.empty()) return "";
  const Range x = box_range(chart.axis, rows);
  const double last = static_cast<double>(rows.size()) - 0.5;
  const int height =
      kBoxMargins.top + kBoxMargins.bottom + kBoxRowHeight * static_cast<int>(rows.size());
  const Canvas canvas(chart.width, height, kBoxMargins, {x, chart.axis.is_log},
                      {{last, -0.5}, false});
  std::string script = canvas.script() + axis_script(chart.axis, x, 'x') +
                       fmt::format("unset ytics\nset grid noytics\nset yrange [{}:-0.5]\n", last) +
                       "set xlabel " + gnuplot_quoted(chart.axis.label) + " offset 0,0.5\n";
  for (const double line : chart.reference_lines) script += upright_line(line);
  GnuplotBlocks plot;
  std::string overlay;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double y = static_cast<double>(i);
    add_row(rows[i], y, plot);
    overlay += row_label(rows[i].label, kBoxMargins.left - 8, canvas.y(y));
    const Interval reach =
        rows[i].whiskers.value_or(rows[i].box.value_or(Interval{rows[i].middle, rows[i].middle}));
    constexpr double kLeastHalf = 9;  // px, as tooltip_circle()
    const double left = std::min(canvas.x(reach.low), canvas.x(rows[i].middle) - kLeastHalf);
    const double right = std::max(canvas.x(reach.high), canvas.x(rows[i].middle) + kLeastHalf);
    const double top = canvas.y(y - kReachOfTooltip);
    if (!rows[i].tooltip.empty())
      overlay += tooltip_box(left, top, right - left, canvas.y(y + kReachOfTooltip) - top,
                             rows[i].tooltip);
  }
  return finish_svg(run_gnuplot(script + plot.script()),
                    {chart.id, chart.width, height, box_sentence(chart)}, overlay);
}

}  // namespace thinpipe
