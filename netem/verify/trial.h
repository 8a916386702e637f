// Goodput of a TCP stream while a schedule plays.
#pragma once

#include <functional>
#include <vector>

#include "netem/network.h"
#include "netem/schedule/player.h"
#include "netem/verify/machine_watch.h"

namespace thinpipe {

/// A stretch of the schedule.
struct TrialWindow {
  double begin = 0, end = 0;  ///< schedule time, s
  LinkMean link;              ///< means over it: both directions of the path's ends; delay and
                              ///< loss of all its links together
  double rate = 0;            ///< bit/s of its narrowest link
  double expected = 0;        ///< bit/s of payload that TCP can deliver at most
  double goodput = 0;         ///< bit/s of payload that arrived
};

struct TrialResult {
  std::vector<TrialWindow> windows;
  double expected = 0, goodput = 0;  ///< bit/s over all of it
  bool links_take_turns = false;     ///< at being the narrowest: more than `expected` may cross
  double longest_gap = 0;            ///< s in which nothing arrived
  PlayerReport player;
  Disturbance machine;
  double deviation() const { return goodput / expected - 1; }
};

struct TrialOptions {
  double seconds = 10;
  double window = 1;     ///< s; the last one may be shorter
  double settle = 0.5;   ///< s of traffic before the schedule begins, at its first rate
  int from = 0, to = 1;  ///< hosts
  PlayerOptions player = {};
};

/// One TCP stream from one host to another, as fast as it goes; the schedule begins after `settle`.
/// `told` hears of every window as it ends.
/// @throws InputError when nothing on the way is throttled; RunError when interrupted
/// (stop_requested) or the stream breaks.
TrialResult try_schedule(Network& network, const LinkSpec& link, const ScheduleSpec& schedule,
                         const TrialOptions& options,
                         const std::function<void(const TrialWindow&)>& told = {});

}  // namespace thinpipe
