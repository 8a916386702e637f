// A curve with spans in which it is 0.
#include <algorithm>
#include <cmath>
#include <utility>

#include "netem/schedule/curve.h"

namespace thinpipe {

namespace {

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
    // What the inner curve does while the link is out shows nowhere.
    return is_out(t) ? next_edge(t) : std::min(next_edge(t), inner_->next_corner(t));
  }

  bool steady_after(double t) const override { return is_out(t) || inner_->steady_after(t); }
  double least() const override { return std::min(0.0, inner_->least()); }
  double most() const override { return std::max(0.0, inner_->most()); }

 private:
  // Number of the outage that began last; negative before the first.
  double number(double t) const {
    if (t < times_.first) return -1;
    if (times_.every == kNever) return 0;
    double n = std::floor((t - times_.first) / times_.every);
    // Division rounds; begin() is what counts.
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

CurvePtr outage_curve(CurvePtr inner, const OutageTimes& times) {
  return std::make_shared<OutageCurve>(std::move(inner), times);
}

}  // namespace thinpipe
