// One quantity of a link over time, as a function with a closed form for its value at a moment and
// for its integral between two moments.
#pragma once

#include <limits>
#include <memory>
#include <vector>

namespace thinpipe {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// A function of the time since the schedule's start, in s. The caller defines the unit of the
/// values. Immutable and thread-safe.
class ScheduleCurve {
 public:
  virtual ~ScheduleCurve() = default;
  /// Returns the value at `t` >= 0; at a jump, the value after it.
  virtual double at(double t) const = 0;
  /// Returns the integral over [from, to], 0 <= from <= to, exact except for rounding.
  virtual double integral(double from, double to) const = 0;
  /// Returns the first moment after `t` at which the value or the slope jumps; kNever if none does.
  virtual double next_corner(double t) const = 0;
  /// Returns true if the value is constant from `t` to the next corner.
  virtual bool steady_after(double t) const = 0;
  /// Returns the smallest value above 0 that lasts for a while or is a turning point; 0 if there is
  /// none. The values themselves may be smaller on their way to 0.
  virtual double least() const = 0;
  virtual double most() const = 0;  ///< upper bound of the values
};
using CurvePtr = std::shared_ptr<const ScheduleCurve>;

struct CurvePoint {
  double time = 0;
  double value = 0;
};

/// Returns a curve through points in ascending order, the first at time 0: a step function, or
/// straight lines between the points (`linear`). The last value stays for ever, or until `period`,
/// after which the curve repeats. The period must not end before the last point.
CurvePtr table_curve(std::vector<CurvePoint> points, bool linear, double period = kNever);

/// Returns middle + swing sin(2 pi (t + shift) / period).
CurvePtr sine_curve(double middle, double swing, double period, double shift);

/// Intervals of `lasts` s that begin at `first` and repeat every `every` s (kNever: once).
struct OutageTimes {
  double first = 0, every = kNever, lasts = 0;
};

/// Returns `inner` with 0 during outages. `inner` continues during an outage.
CurvePtr outage_curve(CurvePtr inner, const OutageTimes& times);

}  // namespace thinpipe
