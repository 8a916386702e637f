// What TCP can deliver from one host to another while a schedule plays.
#pragma once

#include <vector>

#include "netem/schedule/player.h"
#include "netem/topology/routes.h"

namespace thinpipe {

class PathDelivery {
 public:
  /// @param player  outlives this
  PathDelivery(const SchedulePlayer& player, std::vector<Hop> path);

  /// Mean over [from, to] in bit/s of payload, when in no millisecond more crosses than the
  /// narrowest link of the path carries in it; 0 where nothing on it is throttled.
  double goodput(double from, double to) const;

  /// The link of the path that carries the least in all.
  struct Narrowest {
    double goodput = 0;  ///< bit/s of payload; 0 where nothing is throttled
    double rate = 0;     ///< bit/s on the wire
  };
  /// Where one link is the narrowest all the time, its goodput is that of goodput(). Where links
  /// take turns, what crosses is between the two and depends on their queues.
  Narrowest narrowest(double from, double to) const;
  /// Both directions of the path's ends and what happens on the way: up_rate is the first link's,
  /// down_rate the last one's, delay and loss those of all links together.
  LinkMean mean(double from, double to) const;

 private:
  double payload_bits(std::size_t hop, double from, double to) const;

  const SchedulePlayer& player_;
  std::vector<Hop> path_;
  std::vector<double> payload_shares_;  ///< of the bytes that a full frame is charged, by hop
};

}  // namespace thinpipe
