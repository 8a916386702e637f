// A schedule in slow motion.
#include <utility>

#include "netem/schedule/schedule.h"

namespace thinpipe {

namespace {

// `inner` drawn out along the time, and its values multiplied.
class SlowedCurve : public ScheduleCurve {
 public:
  SlowedCurve(CurvePtr inner, double factor, double times)
      : inner_(std::move(inner)), factor_(factor), times_(times) {}

  double at(double t) const override { return times_ * inner_->at(t / factor_); }
  double integral(double from, double to) const override {
    return times_ * factor_ * inner_->integral(from / factor_, to / factor_);
  }
  double next_corner(double t) const override { return factor_ * inner_->next_corner(t / factor_); }
  bool steady_after(double t) const override { return inner_->steady_after(t / factor_); }
  double least() const override { return times_ * inner_->least(); }
  double most() const override { return times_ * inner_->most(); }

 private:
  CurvePtr inner_;
  double factor_, times_;
};

CurvePtr slowed_curve(const CurvePtr& inner, double factor, double times) {
  return std::make_shared<SlowedCurve>(inner, factor, times);
}

}  // namespace

Schedule Schedule::slowed(double factor) const {
  return {slowed_curve(rate_, factor, 1 / factor), slowed_curve(delay_, factor, factor),
          slowed_curve(loss_, factor, 1)};
}

}  // namespace thinpipe
