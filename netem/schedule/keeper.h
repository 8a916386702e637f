// Which rate a throttle must be given so that what crosses is what the schedule says.
#pragma once

#include <cstdint>

#include "netem/schedule/qdisc.h"
#include "netem/schedule/schedule.h"

namespace thinpipe {

/// HTB sends a piece as soon as its credit is not negative and then waits until the piece is paid
/// for, at the rate of the moment at which it left. A change of rate does not change that wait: a
/// frame sent at 62 kbit/s blocks the link for 194 ms, although it may do 1 Mbit/s 10 ms later. So
/// rising rates lose and falling ones gain, up to a piece times the ratio of the rates; and a
/// change that comes late leaves the old rate in force.
///
/// While something waits in the queue the keeper knows what crossed (the counter) and what should
/// have (the integral), and how long the last piece blocks the link, and it sets the next rate so
/// that both meet at the end of its span. A link on which nothing waits owes nothing.
class RateKeeper {
 public:
  /// @param piece  bytes that leave at once at most
  RateKeeper(const Schedule& schedule, double piece) : schedule_(schedule), piece_(8 * piece) {}

  /// The rate in bit/s from `now` until `until` (schedule time, s), 0 for none. `reading` is the
  /// queue's at `now`. The same as before when the difference would not be seen.
  double plan(double now, double until, const QueueReading& reading);
  /// The next plan is the first: time was held, or set.
  void begin_anew();

 private:
  void settle(double now, const QueueReading& reading);

  const Schedule& schedule_;
  double piece_;  ///< bits
  bool begun_ = false;
  double last_ = 0;  ///< when the rate was set
  double rate_ = 0;  ///< to this
  QueueReading counted_;
  double owed_ = 0;       ///< bits that should have crossed and did not; negative: too many did
  double blocked_ = 0;    ///< s until the last piece is paid for
  double postponed_ = 0;  ///< bits that the last span could not make up for
};

}  // namespace thinpipe
