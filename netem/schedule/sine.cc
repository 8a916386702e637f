// A wave around a middle.
#include <cmath>
#include <numbers>

#include "netem/schedule/curve.h"

namespace thinpipe {

namespace {

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

}  // namespace

CurvePtr sine_curve(double middle, double swing, double period, double shift) {
  return std::make_shared<SineCurve>(middle, swing, period, shift);
}

}  // namespace thinpipe
