// Scattered points.
#include "reports/figures/dots.h"

#include <algorithm>
#include <cmath>

#include "reports/statistics/quantile.h"
#include "reports/text/lists.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

bool dominates(const Dot& a, const Dot& b) {
  return a.x <= b.x && a.y <= b.y && (a.x < b.x || a.y < b.y);
}

// Right and up from dot to dot: what lies above the line is beaten by some dot.
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

// How far trusted dots lie off the diagonal.
std::string off_diagonal(const std::vector<Dot>& dots) {
  std::vector<double> ratios;
  for (const Dot& dot : dots)
    if (dot.is_trusted && dot.x > 0 && std::isfinite(dot.y / dot.x))
      ratios.push_back(dot.y / dot.x);
  if (ratios.empty()) return "";
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return ": the one over the other from " + format_number(*least) + " to " + format_number(*most) +
         ", median " + format_number(median(ratios));
}

}  // namespace

std::vector<const Dot*> pareto_front(const std::vector<Dot>& dots) {
  std::vector<const Dot*> front;
  for (const Dot& dot : dots) {
    if (!dot.is_trusted || !std::isfinite(dot.x) || !std::isfinite(dot.y)) continue;
    const bool is_beaten = std::any_of(dots.begin(), dots.end(), [&](const Dot& other) {
      return other.is_trusted && dominates(other, dot);
    });
    if (!is_beaten) front.push_back(&dot);
  }
  std::sort(front.begin(), front.end(), [](const Dot* a, const Dot* b) { return a->x < b->x; });
  return front;
}

Chart dots_chart(const DotChart& dots) {
  Chart chart;
  chart.id = dots.id;
  chart.alt = dots.alt;
  chart.tells_ends = false;
  chart.width = dots.width;
  chart.x = dots.x;
  chart.y = dots.y;
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
    chart.alt += off_diagonal(dots.dots);
    chart.guides.push_back(diagonal(dots.dots));
  }
  return chart;
}

}  // namespace thinpipe
