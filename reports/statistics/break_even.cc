// Break-even by interpolation between neighbouring measured rates.
#include "reports/statistics/break_even.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace thinpipe {
namespace {

struct RateAndRatio {
  double rate;
  double ratio;
};

bool is_above(const RateAndRatio& point) { return point.ratio > 1; }

// Where the line through two points in log-log coordinates meets ratio 1.
double crossing(const RateAndRatio& left, const RateAndRatio& right) {
  const double y0 = std::log(left.ratio);
  const double y1 = std::log(right.ratio);
  const double x0 = std::log(left.rate);
  const double x1 = std::log(right.rate);
  return std::exp(x0 + (x1 - x0) * (y0 / (y0 - y1)));
}

std::optional<double> last_crossing(const std::vector<RateAndRatio>& curve, bool from_paying) {
  for (std::size_t i = curve.size(); i-- > 1;) {
    if (is_above(curve[i - 1]) == from_paying && is_above(curve[i]) != from_paying) {
      return crossing(curve[i - 1], curve[i]);
    }
  }
  return std::nullopt;
}

template <class End>
std::optional<double> crossing_of_ends(std::span<const SpeedupAtRate> points, bool from_paying,
                                       End end) {
  std::vector<RateAndRatio> curve;
  for (const SpeedupAtRate& point : points) {
    if (!point.speedup.interval) return std::nullopt;
    curve.push_back({point.rate, end(*point.speedup.interval)});
  }
  return last_crossing(curve, from_paying);
}

bool any_is(std::span<const SpeedupAtRate> points, Pays wanted) {
  return std::any_of(points.begin(), points.end(), [wanted](const SpeedupAtRate& point) {
    return pays(point.speedup) == wanted;
  });
}

}  // namespace

Pays pays(const Estimate& speedup) {
  const double low = speedup.interval ? speedup.interval->low : speedup.value;
  const double high = speedup.interval ? speedup.interval->high : speedup.value;
  if (low > 1) return Pays::kYes;
  return high > 1 ? Pays::kOpen : Pays::kNo;
}

BreakEven break_even(std::span<const SpeedupAtRate> points) {
  BreakEven result;
  if (points.empty()) return result;
  std::vector<RateAndRatio> curve;
  for (const SpeedupAtRate& point : points) {
    assert(curve.empty() || curve.back().rate < point.rate);
    curve.push_back({point.rate, point.speedup.value});
  }
  for (std::size_t i = 1; i < curve.size(); ++i) {
    result.crossings += is_above(curve[i - 1]) != is_above(curve[i]) ? 1 : 0;
  }
  const bool tells = any_is(points, Pays::kYes) || any_is(points, Pays::kNo);
  if (!tells || (result.crossings == 0 && any_is(points, Pays::kOpen))) {
    result.kind = BreakEven::Kind::kOpen;
    return result;
  }
  if (result.crossings == 0) {
    result.kind =
        is_above(curve[0]) ? BreakEven::Kind::kPaysEverywhere : BreakEven::Kind::kPaysNowhere;
    return result;
  }
  const std::optional<double> stops = last_crossing(curve, /*from_paying=*/true);
  const bool from_paying = stops.has_value();
  result.kind = from_paying ? BreakEven::Kind::kPaysBelow : BreakEven::Kind::kPaysAbove;
  result.rate = from_paying ? *stops : last_crossing(curve, false).value_or(0);
  result.low = crossing_of_ends(points, from_paying, [](const Interval& i) { return i.low; });
  result.high = crossing_of_ends(points, from_paying, [](const Interval& i) { return i.high; });
  // Where compression pays above a rate, the pessimistic curve crosses later than the optimistic.
  if (!from_paying) std::swap(result.low, result.high);
  return result;
}

}  // namespace thinpipe
