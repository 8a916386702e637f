// Charts and scatter plots. gnuplot receives numbers only, never text of a record. Each drawing has
// a sentence for screen readers.
#include "reports/figures/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/figures/drawing.h"
#include "reports/figures/style.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

constexpr int kHeight = 296;
constexpr Margins kChartMargins = {66, 22, 30, 52};

bool is_shown(const ChartPoint& point, const Chart& chart) {
  return is_drawable(point.x, chart.x) && is_drawable(point.y, chart.y);
}

std::vector<Curve> drawable(const Chart& chart) {
  std::vector<Curve> curves;
  for (const Curve& curve : chart.curves) {
    Curve drawn = curve;
    drawn.points.clear();
    for (ChartPoint point : curve.points) {
      if (!is_shown(point, chart)) continue;
      drop_undrawable(point.interval, chart.y);
      drop_undrawable(point.x_interval, chart.x);
      point.x *= curve.x_factor;
      drawn.points.push_back(point);
    }
    if (!drawn.points.empty()) curves.push_back(std::move(drawn));
  }
  return curves;
}

Range range_of(const Axis& axis, const std::vector<Curve>& curves, bool is_x) {
  std::vector<double> values = axis.include;
  for (const Curve& curve : curves)
    for (const ChartPoint& point : curve.points) {
      values.push_back(is_x ? point.x : point.y);
      add_ends(is_x ? point.x_interval : point.interval, axis, values);
    }
  return padded_range(values, axis.is_log);
}

std::string rows_of(const Curve& curve, bool is_trusted) {
  std::string rows;
  for (const ChartPoint& point : curve.points) {
    if (point.is_trusted != is_trusted) continue;
    const Interval across = point.x_interval.value_or(Interval{point.x, point.x});
    const Interval interval = point.interval.value_or(Interval{point.y, point.y});
    rows += fmt::format("{} {} {} {} {} {}\n", point.x, point.y, across.low, across.high,
                        interval.low, interval.high);
  }
  return rows;
}

// Draws lines first, then untrusted points, then trusted ones, which nothing hides.
void add_curves(const std::vector<Curve>& curves, GnuplotBlocks& plot) {
  const auto bars = [](const Curve& curve) -> std::string {
    const bool is_wide = std::any_of(curve.points.begin(), curve.points.end(),
                                     [](const ChartPoint& point) { return point.x_interval; });
    const bool is_tall = std::any_of(curve.points.begin(), curve.points.end(),
                                     [](const ChartPoint& point) { return point.interval; });
    return is_wide   ? "using 1:2:3:4:5:6 with xyerrorbars lw 1.4 ps 0.75 "
           : is_tall ? "using 1:2:5:6 with yerrorbars lw 1.4 ps 0.75 "
                     : "using 1:2 with points lw 1.4 ps 0.75 ";
  };
  for (const Curve& curve : curves) {
    if (!curve.has_line) continue;
    plot.add(rows_of(curve, true), "using 1:2 with lines lw 1.6 dt " + gnuplot_dash(curve.style) +
                                       " lc " + stand_in(series_ink(curve.style)));
  }
  for (const bool is_trusted : {false, true}) {
    for (const Curve& curve : curves) {
      // No line joins untrusted points, so nothing but markers can show them.
      if (is_trusted && !curve.has_markers) continue;
      const int ink = is_trusted ? series_ink(curve.style) : static_cast<int>(Ink::kMuted);
      plot.add(rows_of(curve, is_trusted),
               bars(curve) +
                   fmt::format("pt {} lc {}", point_type(curve.style, is_trusted), stand_in(ink)));
    }
  }
}

// Draws bands. A single point has no area and becomes a bar.
void add_bands(const Chart& chart, GnuplotBlocks& plot) {
  const std::string ink = stand_in(static_cast<int>(Ink::kMuted));
  for (const std::vector<BandPoint>& band : chart.bands) {
    std::string area, middle;
    for (const BandPoint& point : band) {
      if (!is_drawable(point.low, chart.y) || !is_drawable(point.high, chart.y)) continue;
      constexpr double kHalfBar = 0.15;
      for (const double x : band.size() == 1
                                ? std::vector<double>{point.x - kHalfBar, point.x + kHalfBar}
                                : std::vector<double>{point.x}) {
        area += fmt::format("{} {} {}\n", x, point.low, point.high);
        middle += fmt::format("{} {}\n", x, point.middle);
      }
    }
    plot.add(area, "using 1:2:3 with filledcurves fs transparent solid 0.25 noborder lc " + ink);
    plot.add(middle, "using 1:2 with lines lw 1.2 lc " + ink);
  }
}

void add_guides(const Chart& chart, GnuplotBlocks& plot) {
  for (const Guide& guide : chart.guides) {
    std::string rows;
    for (const auto& [x, y] : guide)
      if (is_drawable(x, chart.x) && is_drawable(y, chart.y)) rows += fmt::format("{} {}\n", x, y);
    plot.add(rows,
             "using 1:2 with lines lw 1.2 dt 2 lc " + stand_in(static_cast<int>(Ink::kMuted)));
  }
}

std::string overlay(const Chart& chart, const std::vector<Curve>& curves, const Canvas& canvas) {
  std::string text = canvas.title_text(chart.y.label);
  // Of points closer than a pointer can aim, some have no tooltip.
  constexpr std::size_t kMaxTooltips = 60;
  std::size_t points = 0, place = 0;
  for (const Curve& curve : curves) points += curve.points.size();
  const std::size_t every = points / kMaxTooltips + 1;
  for (const Curve& curve : curves) {
    for (const ChartPoint& point : curve.points) {
      if (point.tooltip.empty() || place++ % every != 0) continue;
      text += tooltip_circle(canvas.x(point.x), canvas.y(point.y), point.tooltip);
    }
  }
  for (const Mark& mark : chart.marks)
    text += tooltip_circle(canvas.x(mark.x), canvas.y(mark.y), mark.tooltip);
  return text;
}

struct Seen {
  const Curve* curve = nullptr;
  const ChartPoint* point = nullptr;
};

// Returns, for each named curve, its point nearest to the end `end` of the x axis. Leaves out
// curves whose nearest point is farther from this end than a quarter of the axis.
std::vector<Seen> seen_at(const Chart& chart, double end, double other) {
  const auto off = [&](double x) {
    return chart.x.is_log ? std::fabs(std::log(x / end)) : std::fabs(x - end);
  };
  std::vector<Seen> seen;
  for (const Curve& curve : chart.curves) {
    Seen nearest{&curve, nullptr};
    for (const ChartPoint& point : curve.points) {
      if (!is_shown(point, chart)) continue;
      if (nearest.point == nullptr || off(point.x) < off(nearest.point->x)) nearest.point = &point;
    }
    if (curve.name.empty() || nearest.point == nullptr) continue;
    if (end == other || 4 * off(nearest.point->x) <= off(other)) seen.push_back(nearest);
  }
  return seen;
}

std::string at_end(const Chart& chart, const std::vector<Seen>& seen) {
  if (seen.empty()) return "";
  const auto [least, most] =
      std::ranges::minmax_element(seen, {}, [](const Seen& one) { return one.point->y; });
  std::string text = "at " + chart.x.format(least->point->x) + " ";
  if (least == most) return text + least->curve->name + " is at " + chart.y.format(least->point->y);
  return text + "from " + chart.y.format(least->point->y) + " (" + least->curve->name + ") to " +
         chart.y.format(most->point->y) + " (" + most->curve->name + ")";
}

bool dominates(const Dot& a, const Dot& b) {
  return a.x <= b.x && a.y <= b.y && (a.x < b.x || a.y < b.y);
}

// Returns the steps right and up from dot to dot. Dots above the line are dominated.
Guide front_steps(const std::vector<const Dot*>& front) {
  Guide steps;
  for (const Dot* dot : front) {
    if (!steps.empty()) steps.emplace_back(dot->x, steps.back().second);
    steps.emplace_back(dot->x, dot->y);
  }
  return steps;
}

Guide diagonal(const std::vector<Dot>& dots) {
  double least = INFINITY, most = -INFINITY;
  for (const Dot& dot : dots) {
    for (const double value : {dot.x, dot.y}) {
      if (!std::isfinite(value)) continue;
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  if (!(least <= most)) return {};
  return {{least, least}, {most, most}};
}

// Describes the distance of trusted dots from the diagonal.
std::string off_diagonal(const DotChart& chart) {
  std::vector<double> ratios;
  for (const Dot& dot : chart.dots)
    if (dot.is_trusted && dot.x > 0 && std::isfinite(dot.y / dot.x))
      ratios.push_back(dot.y / dot.x);
  if (ratios.empty()) return "";
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return ": " + chart.y.label + " over " + chart.x.label + " from " + format_number(*least) +
         " to " + format_number(*most) + ", median " + format_number(median(ratios));
}

}  // namespace

std::string draw_chart(const Chart& chart) {
  std::vector<Curve> curves = drawable(chart);
  if (curves.empty()) return "";
  const Range x = range_of(chart.x, curves, true);
  Axis y_axis = chart.y;
  for (const std::vector<BandPoint>& band : chart.bands)
    for (const BandPoint& point : band)
      for (const double end : {point.low, point.high})
        if (is_drawable(end, y_axis)) y_axis.include.push_back(end);
  const Range y = range_of(y_axis, curves, false);
  for (Curve& curve : curves) {
    for (ChartPoint& point : curve.points) {
      clip_low(point.x_interval, chart.x, x);
      clip_low(point.interval, chart.y, y);
    }
  }
  const Canvas canvas(chart.width, kHeight, kChartMargins, {x, chart.x.is_log},
                      {y, chart.y.is_log});
  std::string script = canvas.script() + axis_script(chart.x, x, 'x') +
                       axis_script(chart.y, y, 'y') + "set xlabel " +
                       gnuplot_quoted(chart.x.label) + " offset 0,0.5\n";
  for (const double line : chart.reference_lines)
    script += fmt::format(
        "set arrow from graph 0,first {0} to graph 1,first {0} nohead lw 1.2 dt 2 lc {1}\n", line,
        stand_in(static_cast<int>(Ink::kMuted)));
  for (const double line : chart.upright_lines) script += upright_line(line);
  GnuplotBlocks plot;
  add_bands(chart, plot);
  add_guides(chart, plot);
  add_curves(curves, plot);
  for (const Mark& mark : chart.marks)
    plot.add(fmt::format("{} {}\n", mark.x, mark.y),
             fmt::format("using 1:2 with points pt {} ps 1.3 lw 1.8 lc {}",
                         mark.is_predicted ? 2 : 12, stand_in(series_ink(mark.style))));
  return finish_svg(run_gnuplot(script + plot.script()),
                    {chart.id, chart.width, kHeight, chart_sentence(chart)},
                    overlay(chart, curves, canvas));
}

std::string chart_sentence(const Chart& chart) {
  if (!chart.tells_ends) return chart.alt + ".";
  if (chart.x.format == nullptr || chart.y.format == nullptr) return chart.alt;
  std::set<double> places;
  for (const Curve& curve : chart.curves)
    for (const ChartPoint& point : curve.points)
      if (is_shown(point, chart)) places.insert(point.x);
  if (places.empty()) return chart.alt;
  const double first = *places.begin(), last = *places.rbegin();
  const std::string left = at_end(chart, seen_at(chart, first, last));
  const std::string right = first == last ? "" : at_end(chart, seen_at(chart, last, first));
  std::string text = chart.alt;
  if (!left.empty()) text += ": " + left;
  if (!right.empty()) text += (left.empty() ? ": " : "; ") + right;
  return text + ".";
}

std::vector<const Dot*> pareto_front(const std::vector<Dot>& dots) {
  std::vector<const Dot*> front;
  for (const Dot& dot : dots) {
    if (!dot.is_trusted || !std::isfinite(dot.x) || !std::isfinite(dot.y)) continue;
    const bool is_dominated = std::ranges::any_of(
        dots, [&](const Dot& other) { return other.is_trusted && dominates(other, dot); });
    if (!is_dominated) front.push_back(&dot);
  }
  std::ranges::sort(front, {}, &Dot::x);
  return front;
}

Chart dots_chart(const DotChart& dots) {
  Chart chart{.id = dots.id,
              .alt = dots.alt,
              .width = dots.width,
              .x = dots.x,
              .y = dots.y,
              .tells_ends = false};
  for (const Dot& dot : dots.dots) {
    const bool goes_on = !chart.curves.empty() && chart.curves.back().style == dot.style &&
                         chart.curves.back().name == dot.name;
    if (!goes_on) chart.curves.push_back({dot.style, true, false, {}, dot.name});
    chart.curves.back().points.push_back(
        {dot.x, dot.y, dot.y_interval, dot.is_trusted, dot.tooltip, dot.x_interval});
  }
  if (dots.has_front) {
    const std::vector<const Dot*> front = pareto_front(dots.dots);
    std::vector<std::string> names;
    for (const Dot* dot : front) names.push_back(dot->name);
    if (!names.empty()) chart.alt += ". On the front, left to right: " + joined(names, ", ");
    chart.guides.push_back(front_steps(front));
  }
  if (dots.has_diagonal) {
    chart.alt += off_diagonal(dots);
    chart.guides.push_back(diagonal(dots.dots));
  }
  return chart;
}

}  // namespace thinpipe
