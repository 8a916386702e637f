// The drawing's size, the plot's box in it and the way from values to pixels.
#include "reports/figures/canvas.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/figures/gnuplot.h"
#include "reports/figures/style.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

double share(double value, const Scale& scale) {
  const Range& range = scale.range;
  if (scale.is_log) return std::log(value / range.low) / std::log(range.high / range.low);
  return (value - range.low) / (range.high - range.low);
}

}  // namespace

Canvas::Canvas(int width, int height, Margins margins, Scale x, Scale y)
    : width_(width), height_(height), margins_(margins), x_(x), y_(y) {}

double Canvas::x(double value) const {
  return margins_.left + share(value, x_) * (width_ - margins_.left - margins_.right);
}

double Canvas::y(double value) const {
  return height_ - margins_.bottom - share(value, y_) * (height_ - margins_.top - margins_.bottom);
}

std::string Canvas::script() const {
  const double width = width_;
  const double height = height_;
  return fmt::format(
      "set encoding utf8\n"
      "set terminal svg size {},{} dynamic noenhanced font 'sans,13'\n"
      "set lmargin at screen {:.6f}\nset rmargin at screen {:.6f}\n"
      "set tmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n"
      "unset key\nset border 3 lw 1\nset tics nomirror out scale 0.5\nset errorbars small\n"
      "set grid lt 1 lw 0.7 lc {}\n",
      width_, height_, margins_.left / width, 1 - margins_.right / width, 1 - margins_.top / height,
      margins_.bottom / height, stand_in(static_cast<int>(Ink::kGrid)));
}

std::string Canvas::title_text(std::string_view label) const {
  return fmt::format("<text x=\"4\" y=\"15\" font-size=\"13\">{}</text>\n", escape_html(label));
}

std::string tick_list(const std::vector<double>& ticks, std::string (*format)(double)) {
  std::string list;
  for (const double tick : ticks) {
    std::string label;
    // gnuplot takes a tick's label for a number format.
    for (const char byte : format(tick))
      label += byte == '%' ? std::string("%%") : std::string(1, byte);
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", gnuplot_quoted(label), tick);
  }
  return "(" + list + ")";
}

std::string axis_script(const Axis& axis, const Range& range, char name) {
  const double closest = name == 'x' ? kClosestLevelTicks : kClosestTicks;
  const std::vector<double> ticks = !axis.ticks.empty()
                                        ? thinned(axis.ticks, range, axis.is_log, closest)
                                    : axis.is_log ? log_ticks(range, closest)
                                                  : readable_ticks(range, 5, axis.format);
  return fmt::format("set {0}range [{1}:{2}]\nset {0}tics {3}\n{4}", name, range.low, range.high,
                     tick_list(ticks, axis.format),
                     axis.is_log ? fmt::format("set logscale {}\n", name) : "");
}

std::string upright_line(double x) {
  return fmt::format(
      "set arrow from first {0},graph 0 to first {0},graph 1 nohead lw 1.2 dt 2 lc {1}\n", x,
      stand_in(static_cast<int>(Ink::kMuted)));
}

}  // namespace thinpipe
