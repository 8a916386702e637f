// One part of a schedule: what happens to one quantity of a link.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "netem/schedule/curve.h"
#include "netem/schedule/items.h"
#include "netem/schedule/level.h"

namespace thinpipe {

struct SchedulePart {
  Quantity quantity = Quantity::kRate;
  std::string text;  ///< canonical: reads back to the same part
  /// On a link whose own value of the quantity is `own`.
  std::function<CurvePtr(double own)> curve;
};

/// Moments and levels, as steps or ramps have them.
using LevelPoints = std::vector<std::pair<double, Level>>;
/// A table of levels on a link with this value of its own.
CurvePtr level_curve(const LevelPoints& points, bool linear, double period, double own);

/// The key `of`: rate unless it says otherwise; and as it stands in canonical text.
Quantity take_quantity(ScheduleItems& items);
std::string of_text(Quantity quantity);

// The kinds that need no file; their grammar is in docs/schedules.md.
SchedulePart parse_steps(ScheduleItems& items);  ///< `steps` and `ramp`
SchedulePart parse_sine(ScheduleItems& items);
SchedulePart parse_walk(ScheduleItems& items);
OutageTimes parse_outage(ScheduleItems& items);
std::string outage_text(const OutageTimes& times);

}  // namespace thinpipe
