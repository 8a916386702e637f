// Measures the goodput of a TCP stream while a schedule plays.
#pragma once

#include <functional>
#include <vector>

#include "netem/network.h"
#include "netem/schedule/player.h"
#include "netem/verify/machine_watch.h"

namespace thinpipe {

/// Results of an interval of the schedule.
struct TrialWindow {
  double begin = 0, end = 0;  ///< schedule time, s
  LinkMean link;              ///< means: rates of the path's first and last link, delay and loss of
                              ///< the whole path
  double rate = 0;            ///< bit/s of the bottleneck link
  double expected = 0;        ///< TCP ceiling in bit/s of payload
  double goodput = 0;         ///< bit/s of payload that arrived
};

struct TrialResult {
  std::vector<TrialWindow> windows;
  double expected = 0, goodput = 0;  ///< bit/s over all windows
  bool links_take_turns = false;     ///< the bottleneck alternates, so `expected` may be exceeded
  double longest_gap = 0;            ///< longest time without an arrival, also at the end, s
  PlayerReport player;
  Disturbance machine;
  double deviation() const { return goodput / expected - 1; }
};

/// Returns whether the goodput may be compared with the schedule. Under frame loss or changing
/// delays TCP's goodput does not measure the links. Nor does it if the bottleneck moves between
/// links: while one link is the bottleneck, its queue fills, and this data passes later. More data
/// then gets through than the integral of the lowest rate.
/// @param disturbed  links lose, reorder or unevenly delay frames also without the schedule
bool judges_goodput(bool disturbed, const ScheduleSpec& schedule, const TrialResult& result);

struct TrialOptions {
  double seconds = 10;
  double window = 1;     ///< s; the last window may be shorter
  double settle = 0.5;   ///< s of traffic at the first rate, before the schedule starts
  int from = 0, to = 1;  ///< hosts
  PlayerOptions player = {};
};

/// @throws InputError if the stream's ends are not two different hosts of `hosts`
void check_ends(const TrialOptions& options, int hosts);

/// Runs one TCP stream at full speed while the schedule plays.
/// @param told  called with every window at its end
/// @throws InputError when no link of the path is throttled; RunError when interrupted
/// (stop_requested) or the stream breaks.
TrialResult try_schedule(Network& network, const LinkSpec& link, const ScheduleSpec& schedule,
                         const TrialOptions& options,
                         const std::function<void(const TrialWindow&)>& told = {});

}  // namespace thinpipe
