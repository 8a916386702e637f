// One quantity of a link over time. All forms are known in closed form: a value at a moment, and
// the exact integral between two.
#pragma once

#include <limits>
#include <memory>
#include <vector>

namespace thinpipe {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// A function of the time since the schedule began, in s; the unit of its value is the user's
/// business. Immutable, so any thread may ask.
class ScheduleCurve {
 public:
  virtual ~ScheduleCurve() = default;
  /// The value at `t` >= 0; at a jump, the one from then on.
  virtual double at(double t) const = 0;
  /// The integral over [from, to], 0 <= from <= to: exact but for rounding.
  virtual double integral(double from, double to) const = 0;
  /// The first moment after `t` at which it jumps or its slope does; kNever when there is none.
  virtual double next_corner(double t) const = 0;
  /// Does not change from `t` to the next corner.
  virtual bool steady_after(double t) const = 0;
  /// Bounds of its values.
  virtual double least() const = 0;
  virtual double most() const = 0;
};
using CurvePtr = std::shared_ptr<const ScheduleCurve>;

struct CurvePoint {
  double time = 0;
  double value = 0;
};

/// Values at given moments, the first at 0, ascending: each holds until the next (steps), or
/// straight lines join them (`linear`). The last value holds for ever, or until `period`, where all
/// begins again; the period is not before the last moment.
CurvePtr table_curve(std::vector<CurvePoint> points, bool linear, double period = kNever);

/// middle + swing sin(2 pi (t + shift) / period).
CurvePtr sine_curve(double middle, double swing, double period, double shift);

/// Spans of `lasts` s that begin at `first`, and every `every` s again (kNever: once).
struct OutageTimes {
  double first = 0, every = kNever, lasts = 0;
};

/// `inner`, but 0 in the outages; `inner` goes on meanwhile.
CurvePtr outage_curve(CurvePtr inner, const OutageTimes& times);

}  // namespace thinpipe
