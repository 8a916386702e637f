// Horizontal stacked bars.
#include "reports/figures/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/figures/canvas.h"
#include "reports/figures/gnuplot.h"
#include "reports/figures/row_label.h"
#include "reports/figures/style.h"
#include "reports/figures/svg.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

constexpr int kWidth = 400;
constexpr int kRowHeight = 26;
constexpr Margins kBarMargins = {152, 10, 8, 52};
constexpr double kHalfBar = 0.34;       // of a row
constexpr double kRoomForTotal = 1.24;  // the axis is so much longer than the longest bar

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

// What fills a part is told by a letter, too: colour alone would not do.
std::string part_letter(const BarPart& part, double left, double right, double baseline) {
  constexpr double kLeastWidth = 16;  // px
  if (part.name.empty() || right - left < kLeastWidth) return "";
  return fmt::format(
      "<text class=\"letter\" x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"11\" "
      "text-anchor=\"middle\">{}</text>\n",
      0.5 * (left + right), baseline - 0.5, escape_html(part.letter));
}

std::string row_overlay(const Bar& bar, double row, const Canvas& canvas) {
  const double top = canvas.y(row - kHalfBar);
  const double height = canvas.y(row + kHalfBar) - top;
  const double baseline = canvas.y(row) + 4.5;
  std::string text = row_label(bar.label, kBarMargins.left - 8, canvas.y(row));
  double start = 0;
  for (const BarPart& part : bar.parts) {
    const double left = canvas.x(start);
    start += part.length;
    if (part.length > 0 && !part.is_gap) text += part_letter(part, left, canvas.x(start), baseline);
    if (part.length > 0 && !part.is_gap)
      text += tooltip_box(left, top, canvas.x(start) - left, height, part.tooltip);
  }
  text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"12.5\">{}</text>\n",
                      canvas.x(start) + 6, baseline, escape_html(bar.total));
  return text;
}

}  // namespace

std::string bar_sentence(const BarChart& chart) {
  if (chart.bars.empty() || chart.format == nullptr) return chart.alt;
  const auto [least, most] =
      std::minmax_element(chart.bars.begin(), chart.bars.end(),
                          [](const Bar& a, const Bar& b) { return length(a) < length(b); });
  std::string text = chart.alt + ": ";
  if (chart.bars.size() == 1) return text + least->label + " " + chart.format(length(*least)) + ".";
  return text + "from " + chart.format(length(*least)) + " (" + least->label + ") to " +
         chart.format(length(*most)) + " (" + most->label + ").";
}

std::string draw_bars(const BarChart& chart) {
  double longest = 0;
  for (const Bar& bar : chart.bars) longest = std::max(longest, length(bar));
  if (!(longest > 0) || !std::isfinite(longest)) return "";
  const Range x = {0, longest * kRoomForTotal};
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
  std::string overlay;
  for (std::size_t row = 0; row < chart.bars.size(); ++row) {
    overlay += row_overlay(chart.bars[row], static_cast<double>(row), canvas);
  }
  return finish_svg(run_gnuplot(script + plotted(chart).script()),
                    {chart.id, kWidth, height, bar_sentence(chart)}, overlay);
}

}  // namespace thinpipe
