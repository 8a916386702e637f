#include "netem/schedule/schedule.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "netem/link_spec.h"

namespace thinpipe {

namespace {

CurvePtr constant(double value) { return table_curve({{0, value}}, false); }

}  // namespace

Schedule::Schedule(CurvePtr rate, CurvePtr delay, CurvePtr loss)
    : rate_(std::move(rate)), delay_(std::move(delay)), loss_(std::move(loss)) {}

LinkState Schedule::at(double t) const { return {rate_->at(t), delay_->at(t), loss_->at(t)}; }

LinkState Schedule::mean(double from, double to) const {
  if (to <= from) return at(from);
  const double span = to - from;
  return {rate_->integral(from, to) / span, delay_->integral(from, to) / span,
          loss_->integral(from, to) / span};
}

double Schedule::time_for(double from, double needed) const {
  constexpr double kLongest = 1e6;
  if (needed <= 0) return 0;
  double high = 1e-3;
  while (bits(from, from + high) < needed)
    if ((high *= 2) > kLongest) return kNever;
  double low = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (bits(from, from + middle) < needed ? low : high) = middle;
  }
  return high;
}

double Schedule::next_change(double t, double interval) const {
  double next = kNever;
  for (const CurvePtr& curve : {rate_, delay_, loss_}) {
    next = std::min(next, curve->next_corner(t));
    if (!curve->steady_after(t)) next = std::min(next, t + interval);
  }
  return next;
}

ScheduleSpec::ScheduleSpec(std::vector<SchedulePart> parts, std::optional<OutageTimes> outage,
                           std::string text, std::string digest)
    : parts_(std::move(parts)),
      outage_(outage),
      text_(std::move(text)),
      digest_(std::move(digest)) {}

bool ScheduleSpec::changes(Quantity quantity) const {
  return (quantity == Quantity::kRate && outage_) ||
         std::any_of(parts_.begin(), parts_.end(),
                     [&](const SchedulePart& part) { return part.quantity == quantity; }) ||
         std::any_of(named_.begin(), named_.end(),
                     [&](const auto& one) { return one.second.changes(quantity); });
}

ScheduleSpec ScheduleSpec::with(const ScheduleSpec& over) const {
  ScheduleSpec joined = *this;
  joined.named_.clear();
  for (const SchedulePart& part : over.parts_) {
    std::erase_if(joined.parts_, [&](const auto& old) { return old.quantity == part.quantity; });
    joined.parts_.push_back(part);
  }
  if (over.outage_) joined.outage_ = over.outage_;
  return joined;
}

ScheduleSpec ScheduleSpec::without(Quantity quantity) const {
  ScheduleSpec rest = with({});
  std::erase_if(rest.parts_, [&](const auto& part) { return part.quantity == quantity; });
  if (quantity == Quantity::kRate) rest.outage_.reset();
  return rest;
}

ScheduleSpec ScheduleSpec::slowed(double factor) const {
  ScheduleSpec spec = *this;
  spec.slow_ *= factor;
  return spec;
}

Schedule ScheduleSpec::on(const LinkState& set) const {
  const LinkState own = {set.rate * slow_, set.delay / slow_, set.loss};
  CurvePtr rate = constant(own.rate), delay = constant(own.delay), loss = constant(own.loss);
  for (const SchedulePart& part : parts_) {
    if (part.quantity == Quantity::kRate) rate = part.curve(own.rate);
    if (part.quantity == Quantity::kDelay) delay = part.curve(own.delay);
    if (part.quantity == Quantity::kLoss) loss = part.curve(own.loss);
  }
  if (rate->most() <= 0)
    throw InputError(fmt::format("schedule {}: the link never has a rate", in_quotes(text_)));
  if (rate->most() > kHighestLinkRate)
    throw InputError(
        fmt::format("schedule {}: {:.3g} bit/s is above 100gbit", in_quotes(text_), rate->most()));
  if (rate->least() > 0 && rate->least() < kLowestLinkRate)
    throw InputError(fmt::format("schedule {}: {:.3g} bit/s is neither 0 nor at least 1kbit",
                                 in_quotes(text_), rate->least()));
  if (outage_) rate = outage_curve(std::move(rate), *outage_);
  if (rate->most() > kHighestLinkRate * slow_)
    throw InputError(fmt::format("schedule {}: {:.3g} bit/s at time scale {} is above 100gbit",
                                 in_quotes(text_), rate->most(), slow_));
  const Schedule schedule(std::move(rate), std::move(delay), std::move(loss));
  return slow_ == 1 ? schedule : schedule.slowed(slow_);
}

}  // namespace thinpipe
