// A chart in a sentence, for who does not see it.
#include <algorithm>
#include <cmath>
#include <set>

#include "reports/figures/chart.h"

namespace thinpipe {
namespace {

struct Seen {
  const Curve* curve = nullptr;
  const ChartPoint* point = nullptr;
};

bool is_shown(const ChartPoint& point, const Chart& chart) {
  const auto fits = [](double value, const Axis& axis) {
    return std::isfinite(value) && (!axis.is_log || value > 0);
  };
  return fits(point.x, chart.x) && fits(point.y, chart.y);
}

// The point of each named curve that lies nearest to an end, as long as it is on the end's half.
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
      std::minmax_element(seen.begin(), seen.end(),
                          [](const Seen& a, const Seen& b) { return a.point->y < b.point->y; });
  std::string text = "at " + chart.x.format(least->point->x) + " ";
  if (least == most) return text + least->curve->name + " is at " + chart.y.format(least->point->y);
  return text + "from " + chart.y.format(least->point->y) + " (" + least->curve->name + ") to " +
         chart.y.format(most->point->y) + " (" + most->curve->name + ")";
}

}  // namespace

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

}  // namespace thinpipe
