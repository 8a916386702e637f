// Horizontal stacked bars.
#include "reports/figures/bars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/figures/canvas.h"
#include "reports/figures/gnuplot.h"
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
constexpr std::size_t kLongestLabel = 20;

double length(const Bar& bar) {
  double sum = 0;
  for (const BarPart& part : bar.parts) sum += part.length;
  return sum;
}

// Cuts between characters, not inside one: continuation bytes of UTF-8 are 10xxxxxx.
std::string shortened(const std::string& text) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
    if (++characters > kLongestLabel) return text.substr(0, i) + "\xe2\x80\xa6";
  }
  return text;
}

std::string plot_commands(const BarChart& chart) {
  std::string blocks, commands;
  int count = 0;
  for (std::size_t row = 0; row < chart.bars.size(); ++row) {
    double start = 0;
    for (std::size_t part = 0; part < chart.bars[row].parts.size(); ++part) {
      const double end = start + chart.bars[row].parts[part].length;
      const BarPart& drawn = chart.bars[row].parts[part];
      if (end > start && !drawn.is_gap) {
        const int ink = drawn.ink.value_or(part_ink(part));
        const double y = static_cast<double>(row);
        blocks += fmt::format("$d{} << EOD\n{} {} {} {} {} {}\nEOD\n", count, start, y, start, end,
                              y - kHalfBar, y + kHalfBar);
        const bool is_trusted = chart.bars[row].is_trusted;
        commands += fmt::format(
            "{}$d{} with boxxyerror fs {} lc {}", count == 0 ? "" : ", \\\n  ", count,
            is_trusted ? std::string("solid 1 noborder") : "empty border lc " + stand_in(ink),
            stand_in(ink));
        ++count;
      }
      start = end;
    }
  }
  return blocks + "plot " + commands + "\n";
}

std::string row_overlay(const Bar& bar, double row, const Canvas& canvas) {
  const double top = canvas.y(row - kHalfBar);
  const double height = canvas.y(row + kHalfBar) - top;
  const double baseline = canvas.y(row) + 4.5;
  std::string text = fmt::format(
      "<text x=\"{}\" y=\"{:.1f}\" font-size=\"12.5\" "
      "text-anchor=\"end\">{}<title>{}</title></text>\n",
      kBarMargins.left - 8, baseline, escape_html(shortened(bar.label)), escape_html(bar.label));
  double start = 0;
  for (const BarPart& part : bar.parts) {
    const double left = canvas.x(start);
    start += part.length;
    if (part.length > 0 && !part.is_gap)
      text += tooltip_box(left, top, canvas.x(start) - left, height, part.tooltip);
  }
  text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"12.5\">{}</text>\n",
                      canvas.x(start) + 6, baseline, escape_html(bar.total));
  return text;
}

}  // namespace

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
  return finish_svg(run_gnuplot(script + plot_commands(chart)),
                    {chart.id, kWidth, height, chart.alt}, overlay);
}

}  // namespace thinpipe
