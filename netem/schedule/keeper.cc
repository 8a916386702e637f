#include "netem/schedule/keeper.h"

#include <algorithm>
#include <cmath>

namespace thinpipe {

namespace {

constexpr double kLeastKept = 1e3;  // bit/s; less is nothing
// How far the rate may leave the schedule to make up for what was. Not far down: what is sent at a
// low rate blocks the link for long.
constexpr double kLeastFactor = 0.75, kMostFactor = 4;
constexpr double kLeastFree = 0.25;  // share of a span
constexpr double kSame = 1e-3;       // rates that differ less are not told to the kernel

}  // namespace

void RateKeeper::settle(double now, const QueueReading& reading) {
  const double span = now - last_;
  const double sent = 8 * static_cast<double>(reading.bytes - counted_.bytes);
  if (reading.packets_waiting == 0) {
    owed_ = blocked_ = 0;
    return;
  }
  if (rate_ > 0 && sent > 0)
    blocked_ = std::clamp(blocked_ + sent / rate_ - span, 0.0, piece_ / rate_);
  else
    blocked_ = std::max(0.0, blocked_ - span);
  // No more can be owed than what the last plan left and what a late change cost: the queue was
  // empty for a while. No more can have been too much than a piece or two, the bucket's credit of
  // about two after a pause, and likewise.
  const double due = schedule_.bits(last_, now), late = rate_ * span - due;
  owed_ =
      std::clamp(owed_ + due - sent, std::min(0.0, postponed_) - 4 * piece_ - std::max(0.0, late),
                 std::max(0.0, postponed_) + std::max(0.0, -late));
}

void RateKeeper::begin_anew() {
  begun_ = false;
  owed_ = blocked_ = postponed_ = 0;
}

double RateKeeper::plan(double now, double until, const QueueReading& reading) {
  if (begun_) settle(now, reading);
  begun_ = true;
  const double span = until - now;
  const double scheduled = schedule_.bits(now, until), mean = scheduled / span;
  const double wanted = scheduled + owed_;
  // A blocked link is free again within the span, or nothing that is set now matters.
  const double free = std::max(span - blocked_, kLeastFree * span);
  double rate = std::clamp(std::max(wanted, piece_) / free, kLeastFactor * mean,
                           std::max(kMostFactor * mean, piece_ / free));
  // On a link that has nothing waiting, a piece that comes goes at once, and is paid for later.
  if (reading.packets_waiting == 0) rate = mean;
  // Where less than a piece may cross, none does, until enough has come together for one.
  if (mean < kLeastKept || (reading.packets_waiting > 0 && wanted < piece_ / 2)) rate = 0;
  if (std::fabs(rate - rate_) <= kSame * rate_) rate = rate_;
  postponed_ = wanted - rate * std::max(0.0, span - blocked_);
  last_ = now;
  rate_ = rate;
  counted_ = reading;
  return rate;
}

}  // namespace thinpipe
