// Ranges and ticks of axes, and the mapping from values to pixels.
#include "reports/figures/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/escape.h"
#include "reports/figures/style.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

constexpr double kPadding = 0.06;  // fraction of the range, on both sides

// Returns the position as a fraction of the range.
double position(double value, const Range& range, bool is_log) {
  if (is_log) return std::log(value / range.low) / std::log(range.high / range.low);
  return (value - range.low) / (range.high - range.low);
}

}  // namespace

Range padded_range(const std::vector<double>& values, bool is_log) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (is_log) {
    const double span = std::max(std::log(*most / *least), std::log(1.5));
    const double middle = 0.5 * (std::log(*most) + std::log(*least));
    const double half = span * (0.5 + kPadding);
    return {std::exp(middle - half), std::exp(middle + half)};
  }
  // Values of 0, apart from rounding errors, have no scale of their own.
  constexpr double kZero = 1e-12;
  const double magnitude = std::max(std::abs(*least), std::abs(*most));
  const double scale = magnitude < kZero ? 1 : magnitude;
  const double span = std::max(*most - *least, 0.02 * scale);
  const double middle = 0.5 * (*least + *most);
  return {middle - span * (0.5 + kPadding), middle + span * (0.5 + kPadding)};
}

std::vector<double> linear_ticks(const Range& range, int count) {
  const double raw = (range.high - range.low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double step = power * (raw / power <= 1   ? 1
                               : raw / power <= 2 ? 2
                               : raw / power <= 5 ? 5
                                                  : 10);
  std::vector<double> ticks;
  const double tolerance = 1e-9 * step;
  for (double i = std::ceil((range.low - tolerance) / step); i * step <= range.high + tolerance;
       ++i)
    ticks.push_back(i * step + 0.0);  // + 0.0 turns -0 into 0
  return ticks;
}

std::vector<double> readable_ticks(const Range& range, int count, std::string (*format)(double)) {
  for (;; --count) {
    std::vector<double> ticks = linear_ticks(range, count);
    const auto repeated = std::adjacent_find(
        ticks.begin(), ticks.end(), [&](double a, double b) { return format(a) == format(b); });
    if (repeated == ticks.end() || count == 1) return ticks;
  }
}

std::vector<double> thinned(const std::vector<double>& values, const Range& range, bool is_log,
                            double closest) {
  std::vector<double> chosen;
  for (const double value : values) {
    if (value < range.low || value > range.high) continue;
    const bool is_far =
        chosen.empty() ||
        position(value, range, is_log) - position(chosen.back(), range, is_log) >= closest;
    if (is_far) chosen.push_back(value);
  }
  return chosen;
}

std::vector<double> log_ticks(const Range& range, double closest) {
  const double decades = std::log10(range.high / range.low);
  if (decades < 0.5) return linear_ticks(range, 4);
  std::vector<double> ticks;
  const int last = static_cast<int>(std::floor(std::log10(range.high)));
  for (int e = static_cast<int>(std::floor(std::log10(range.low))); e <= last; ++e)
    for (const double factor : {1.0, 2.0, 5.0})
      if (factor == 1 || decades < 3) ticks.push_back(factor * std::pow(10.0, e));
  return thinned(ticks, range, true, closest);
}

Canvas::Canvas(int width, int height, Margins margins, Scale x, Scale y)
    : width_(width), height_(height), margins_(margins), x_(x), y_(y) {}

double Canvas::x(double value) const {
  return margins_.left +
         position(value, x_.range, x_.is_log) * (width_ - margins_.left - margins_.right);
}

double Canvas::y(double value) const {
  return height_ - margins_.bottom -
         position(value, y_.range, y_.is_log) * (height_ - margins_.top - margins_.bottom);
}

std::string Canvas::script() const {
  const double width = width_, height = height_;
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
    std::string label = format(tick);
    replace_all(label, "%", "%%");  // gnuplot interprets a tick's label as a number format
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", gnuplot_quoted(label), tick);
  }
  return "(" + list + ")";
}

bool is_drawable(double value, const Axis& axis) {
  return std::isfinite(value) && (!axis.is_log || value > 0);
}

void drop_undrawable(std::optional<Interval>& interval, const Axis& axis) {
  if (interval && !(std::isfinite(interval->low) && is_drawable(interval->high, axis)))
    interval.reset();
}

void add_ends(const std::optional<Interval>& interval, const Axis& axis,
              std::vector<double>& values) {
  if (!interval) return;
  for (const double end : {interval->low, interval->high})
    if (is_drawable(end, axis)) values.push_back(end);
}

void clip_low(std::optional<Interval>& interval, const Axis& axis, const Range& range) {
  if (interval && !is_drawable(interval->low, axis)) interval->low = range.low;
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
