// Piecewise constant and piecewise linear curves.
#include <algorithm>
#include <cmath>
#include <utility>

#include "netem/schedule/curve.h"

namespace thinpipe {

namespace {

class TableCurve : public ScheduleCurve {
 public:
  TableCurve(std::vector<CurvePoint> points, bool linear, double period)
      : points_(std::move(points)), linear_(linear), period_(period) {
    double sum = 0;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      before_.push_back(sum);
      if (i + 1 < points_.size()) sum += area(i, points_[i + 1].time);
    }
    if (repeats()) whole_ = integral_within(period_);
  }

  double at(double t) const override { return value(segment(phase(t)), phase(t)); }

  double integral(double from, double to) const override { return until(to) - until(from); }

  double next_corner(double t) const override {
    if (!repeats()) {
      const auto next = after(t);
      return next == points_.end() ? kNever : next->time;
    }
    // Rounding may give back `t` itself where periods are short against it: then the one after.
    double begin = t - phase(t);
    for (auto next = after(phase(t));; begin += period_, next = points_.begin())
      for (; next != points_.end(); ++next)
        if (begin + next->time > t) return begin + next->time;
  }

  bool steady_after(double t) const override {
    const std::size_t i = segment(phase(t));
    return !linear_ || i + 1 == points_.size() || points_[i].value == points_[i + 1].value;
  }

  double least() const override {
    return std::min_element(points_.begin(), points_.end(), by)->value;
  }
  double most() const override {
    return std::max_element(points_.begin(), points_.end(), by)->value;
  }

 private:
  static bool by(const CurvePoint& a, const CurvePoint& b) { return a.value < b.value; }
  bool repeats() const { return period_ < kNever; }
  double phase(double t) const { return repeats() ? std::fmod(t, period_) : t; }

  std::vector<CurvePoint>::const_iterator after(double t) const {
    return std::upper_bound(points_.begin(), points_.end(), t,
                            [](double time, const CurvePoint& point) { return time < point.time; });
  }

  std::size_t segment(double t) const {
    const auto next = after(t);
    return next == points_.begin() ? 0 : static_cast<std::size_t>(next - points_.begin()) - 1;
  }

  double value(std::size_t i, double t) const {
    if (!linear_ || i + 1 == points_.size()) return points_[i].value;
    const CurvePoint &a = points_[i], &b = points_[i + 1];
    return a.value + (b.value - a.value) * (t - a.time) / (b.time - a.time);
  }

  // Of segment i, up to t.
  double area(std::size_t i, double t) const {
    return (points_[i].value + value(i, t)) / 2 * (t - points_[i].time);
  }

  double integral_within(double t) const {
    const std::size_t i = segment(t);
    return before_[i] + area(i, t);
  }

  double until(double t) const {
    if (!repeats()) return integral_within(t);
    return std::round((t - phase(t)) / period_) * whole_ + integral_within(phase(t));
  }

  std::vector<CurvePoint> points_;
  std::vector<double> before_;  ///< integral up to each point
  bool linear_;
  double period_;
  double whole_ = 0;  ///< integral of a period
};

}  // namespace

CurvePtr table_curve(std::vector<CurvePoint> points, bool linear, double period) {
  return std::make_shared<TableCurve>(std::move(points), linear, period);
}

}  // namespace thinpipe
