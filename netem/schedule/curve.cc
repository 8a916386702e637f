#include "netem/schedule/curve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

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
    // If the period is short compared with `t`, rounding may place the next corner at `t` itself.
    // The loop then continues to the corner after it.
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
    double least = most();
    for (const CurvePoint& point : points_)
      if (point.value > 0) least = std::min(least, point.value);
    return least;
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

  // Returns the integral over segment i up to t.
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

class SineCurve : public ScheduleCurve {
 public:
  SineCurve(double middle, double swing, double period, double shift)
      : middle_(middle), swing_(swing), pace_(2 * std::numbers::pi / period), shift_(shift) {}

  double at(double t) const override { return middle_ + swing_ * std::sin(angle(t)); }
  double integral(double from, double to) const override {
    return middle_ * (to - from) + swing_ / pace_ * (std::cos(angle(from)) - std::cos(angle(to)));
  }
  double next_corner(double) const override { return kNever; }
  bool steady_after(double) const override { return swing_ == 0; }
  double least() const override { return middle_ - std::fabs(swing_); }
  double most() const override { return middle_ + std::fabs(swing_); }

 private:
  double angle(double t) const { return pace_ * (t + shift_); }
  double middle_, swing_, pace_, shift_;
};

class OutageCurve : public ScheduleCurve {
 public:
  OutageCurve(CurvePtr inner, const OutageTimes& times) : inner_(std::move(inner)), times_(times) {}

  double at(double t) const override { return is_out(t) ? 0 : inner_->at(t); }

  double integral(double from, double to) const override {
    double sum = 0;
    while (from < to) {
      const double end = std::min(to, next_edge(from));
      if (!is_out(from)) sum += inner_->integral(from, end);
      from = end;
    }
    return sum;
  }

  double next_corner(double t) const override {
    // During an outage the inner curve has no effect.
    return is_out(t) ? next_edge(t) : std::min(next_edge(t), inner_->next_corner(t));
  }

  bool steady_after(double t) const override { return is_out(t) || inner_->steady_after(t); }
  double least() const override { return inner_->least(); }
  double most() const override { return std::max(0.0, inner_->most()); }

 private:
  // Returns the number of the latest outage that has begun; negative before the first.
  double number(double t) const {
    if (t < times_.first) return -1;
    if (times_.every == kNever) return 0;
    double n = std::floor((t - times_.first) / times_.every);
    // Division rounds, so the result is corrected by begin().
    while (begin(n + 1) <= t) ++n;
    while (begin(n) > t) --n;
    return n;
  }
  double begin(double n) const {
    if (n <= 0 || times_.every == kNever) return n <= 0 ? times_.first : kNever;
    return times_.first + n * times_.every;
  }
  bool is_out(double t) const {
    const double n = number(t);
    return n >= 0 && t < begin(n) + times_.lasts;
  }
  double next_edge(double t) const {
    const double n = number(t);
    if (n >= 0 && t < begin(n) + times_.lasts) return begin(n) + times_.lasts;
    return begin(n + 1);
  }

  CurvePtr inner_;
  OutageTimes times_;
};

}  // namespace

CurvePtr table_curve(std::vector<CurvePoint> points, bool linear, double period) {
  return std::make_shared<TableCurve>(std::move(points), linear, period);
}

CurvePtr sine_curve(double middle, double swing, double period, double shift) {
  return std::make_shared<SineCurve>(middle, swing, period, shift);
}

CurvePtr outage_curve(CurvePtr inner, const OutageTimes& times) {
  return std::make_shared<OutageCurve>(std::move(inner), times);
}

}  // namespace thinpipe
