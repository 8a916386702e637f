// Horizontal stacked bars, and rows of markers or boxes, with their names at the left.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/escape.h"
#include "base/text.h"
#include "reports/figures/chart.h"
#include "reports/figures/drawing.h"
#include "reports/figures/style.h"

namespace thinpipe {
namespace {

constexpr std::size_t kLongestLabel = 17;  // 144 px of a wide font (DejaVu Sans) at 12.5 px
constexpr double kBaseline = 4.5;          // px below the middle of text of 12.5 px

// Leaves out the middle of a long text, because labels of links and compressors differ at their
// ends. Cuts between characters, not inside one.
std::string shortened(const std::string& text) {
  std::vector<std::size_t> starts;  // of characters
  for (std::size_t i = 0; i < text.size(); ++i)
    if (!continues_character(text[i])) starts.push_back(i);
  if (starts.size() <= kLongestLabel) return text;
  constexpr std::size_t kLast = kLongestLabel / 2, kFirst = kLongestLabel - kLast;
  return text.substr(0, starts[kFirst]) + "\xe2\x80\xa6" +
         text.substr(starts[starts.size() - kLast]);
}

// Returns `label` as an SVG text that ends at x = `right`, in the row whose middle is at `y`. A
// long label is shortened, and the tooltip shows the whole label.
std::string row_label(const std::string& label, double right, double y) {
  return fmt::format(
      "<text x=\"{}\" y=\"{:.1f}\" font-size=\"12.5\" "
      "text-anchor=\"end\">{}<title>{}</title></text>\n",
      right, y + kBaseline, escape_html(shortened(label)), escape_html(label));
}

constexpr int kWidth = 400;
constexpr int kRowHeight = 26;  // of bars and boxes
constexpr Margins kBarMargins = {152, 10, 8, 52};
constexpr double kHalfBar = 0.34;        // of a row
constexpr double kAxisOfLongest = 1.24;  // the axis over the longest bar, for the totals' text

double length(const Bar& bar) {
  double sum = 0;
  for (const BarPart& part : bar.parts) sum += part.length;
  return sum;
}

GnuplotBlocks plotted(const BarChart& chart) {
  GnuplotBlocks plot;
  for (std::size_t row = 0; row < chart.bars.size(); ++row) {
    double start = 0;
    for (std::size_t part = 0; part < chart.bars[row].parts.size(); ++part) {
      const double end = start + chart.bars[row].parts[part].length;
      const BarPart& drawn = chart.bars[row].parts[part];
      if (end > start && !drawn.is_gap) {
        const int ink = drawn.ink.value_or(part_ink(part));
        const double y = static_cast<double>(row);
        const std::string grey = stand_in(static_cast<int>(Ink::kMuted));
        plot.add(
            fmt::format("{} {} {} {} {} {}\n", start, y, start, end, y - kHalfBar, y + kHalfBar),
            chart.bars[row].is_trusted
                ? "with boxxyerror fs solid 1 noborder lc " + stand_in(ink)
                : "with boxxyerror fs empty border lc " + grey + " lc " + grey);
      }
      start = end;
    }
  }
  return plot;
}

// Returns the part's letter: colour must not be the only distinction.
std::string part_letter(const BarPart& part, double left, double right, double baseline) {
  constexpr double kLetter = 7;  // px, of 11 px sans-serif; a part holds two letters at least
  const auto letters = static_cast<double>(std::max<std::size_t>(part.letter.size(), 2));
  if (part.name.empty() || right - left < kLetter * letters + 2) return "";
  return fmt::format(
      "<text class=\"letter\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"11\" "
      "text-anchor=\"middle\">{}</text>\n",
      0.5 * (left + right), baseline - 0.5, escape_html(part.letter));
}

std::string row_overlay(const Bar& bar, double row, const Canvas& canvas) {
  const double top = canvas.y(row - kHalfBar);
  const double height = canvas.y(row + kHalfBar) - top;
  const double baseline = canvas.y(row) + kBaseline;
  std::string text = row_label(bar.label, kBarMargins.left - 8, canvas.y(row));
  double start = 0;
  for (const BarPart& part : bar.parts) {
    const double left = canvas.x(start);
    start += part.length;
    if (part.length > 0 && !part.is_gap)
      text += part_letter(part, left, canvas.x(start), baseline) +
              tooltip_box(left, top, canvas.x(start) - left, height, part.tooltip);
  }
  text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"12.5\">{}</text>\n",
                      canvas.x(start) + 6, baseline, escape_html(bar.total));
  return text;
}

// On the right half of a label such as "10000" is beyond the axis, whose last tick may be at its
// end.
constexpr Margins kBoxMargins = {152, 28, 8, 52};
constexpr double kHalfBox = 0.26;  // of a row
constexpr double kReachOfTooltip = 0.45;

// Drops rows and intervals that cannot be drawn.
std::vector<BoxRow> drawable_rows(const BoxChart& chart) {
  std::vector<BoxRow> rows;
  for (BoxRow row : chart.rows) {
    if (!is_drawable(row.middle, chart.axis)) continue;
    drop_undrawable(row.box, chart.axis);
    drop_undrawable(row.whiskers, chart.axis);
    rows.push_back(std::move(row));
  }
  return rows;
}

Range box_range(const Axis& axis, const std::vector<BoxRow>& rows) {
  std::vector<double> values = axis.include;
  for (const BoxRow& row : rows) {
    values.push_back(row.middle);
    add_ends(row.box, axis, values);
    add_ends(row.whiskers, axis, values);
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

// Describes a chart in a sentence after `alt`: its least and its greatest item by `value`.
template <class Item, class Value>
std::string extremes_sentence(const std::string& alt, const std::vector<Item>& items, Value value,
                              std::string (*format)(double), const char* at) {
  if (items.empty() || format == nullptr) return alt;
  const auto [least, most] = std::ranges::minmax_element(items, {}, value);
  const std::string low = format(std::invoke(value, *least));
  if (items.size() == 1) return alt + ": " + least->label + at + low + ".";
  return alt + ": from " + low + " (" + least->label + ") to " + format(std::invoke(value, *most)) +
         " (" + most->label + ").";
}

}  // namespace

std::string draw_bars(const BarChart& chart) {
  double longest = 0;
  for (const Bar& bar : chart.bars) longest = std::max(longest, length(bar));
  if (!(longest > 0) || !std::isfinite(longest)) return "";
  const Range x = {0, longest * kAxisOfLongest};
  const double last = static_cast<double>(chart.bars.size()) - 0.5;
  const int height =
      kBarMargins.top + kBarMargins.bottom + kRowHeight * static_cast<int>(chart.bars.size());
  const Canvas canvas(kWidth, height, kBarMargins, {x, false}, {{last, -0.5}, false});
  const std::string script =
      canvas.script() +
      fmt::format(
          "unset ytics\nset grid noytics\nset xrange [{}:{}]\nset yrange "
          "[{}:-0.5]\nset xtics {}\n"
          "set xlabel {} offset 0,0.5\n",
          x.low, x.high, last,
          tick_list(readable_ticks({0, 0.94 * x.high}, 4, chart.format), chart.format),
          gnuplot_quoted(chart.label));
  const GnuplotBlocks plot = plotted(chart);
  if (plot.count == 0) return "";  // the bars have gaps alone
  std::string overlay;
  for (std::size_t row = 0; row < chart.bars.size(); ++row)
    overlay += row_overlay(chart.bars[row], static_cast<double>(row), canvas);
  return finish_svg(run_gnuplot(script + plot.script()),
                    {chart.id, kWidth, height,
                     extremes_sentence(chart.alt, chart.bars, length, chart.format, " ")},
                    overlay);
}

std::string draw_boxes(const BoxChart& chart) {
  std::vector<BoxRow> rows = drawable_rows(chart);
  if (rows.empty()) return "";
  const Range x = box_range(chart.axis, rows);
  for (BoxRow& row : rows) {
    clip_low(row.box, chart.axis, x);
    clip_low(row.whiskers, chart.axis, x);
  }
  const double last = static_cast<double>(rows.size()) - 0.5;
  const int height =
      kBoxMargins.top + kBoxMargins.bottom + kRowHeight * static_cast<int>(rows.size());
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
    constexpr double kMinHalf = 9;  // px, as in tooltip_circle()
    const double left = std::min(canvas.x(reach.low), canvas.x(rows[i].middle) - kMinHalf);
    const double right = std::max(canvas.x(reach.high), canvas.x(rows[i].middle) + kMinHalf);
    const double top = canvas.y(y - kReachOfTooltip);
    if (!rows[i].tooltip.empty())
      overlay += tooltip_box(left, top, right - left, canvas.y(y + kReachOfTooltip) - top,
                             rows[i].tooltip);
  }
  const std::string sentence =
      extremes_sentence(chart.alt, rows, &BoxRow::middle, chart.axis.format, " at ");
  return finish_svg(run_gnuplot(script + plot.script()), {chart.id, chart.width, height, sentence},
                    overlay);
}

}  // namespace thinpipe
