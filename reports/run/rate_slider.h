// A slider over the link's rate, for the page of a run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/summary/summary.h"

namespace thinpipe {

/// A step time at one link rate. `low` and `high` are the ends of its 95 % interval; without an
/// interval, both are equal to `time`.
struct RatePoint {
  double rate = 0;  ///< bit/s
  double time = 0;  ///< s
  double low = 0;   ///< s
  double high = 0;  ///< s
};

/// The step times of a series, ascending in rate.
struct RateCurves {
  const Series* series = nullptr;
  std::vector<RatePoint> measured = {};   ///< `ok` cells alone
  std::vector<RatePoint> predicted = {};  ///< empty where records have no predictions
};

/// Returns the curves of the group's series, in the group's order. Leaves out series without any
/// point. The result points into `group`.
std::vector<RateCurves> rate_curves(const Group& group);

/// A step time read from a curve. `left` and `right` are the rates of the points that it was
/// interpolated between; both are the rate itself where the curve has a point.
struct TimeAtRate {
  double time = 0, low = 0, high = 0;  ///< s, as in RatePoint
  double left = 0, right = 0;          ///< bit/s
};

/// Interpolates the step time at a rate: between neighbouring points of the curve, ln(time) is
/// linear in ln(rate). Returns nothing beyond the first and the last point.
std::optional<TimeAtRate> step_time_at(const std::vector<RatePoint>& curve, double rate);

/// Returns the slider of a group as markup: a range input, a sentence on the fastest series, and a
/// bar per series. It shows the middle rate of the logarithmic scale until a script changes it, and
/// the input is hidden without the script. "" where fewer than two rates have an `ok` cell.
std::string rate_slider(const Group& group);

/// Returns the script that redraws sentence and bars of all sliders of a page.
std::string rate_slider_script();

}  // namespace thinpipe
