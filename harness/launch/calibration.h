// What a link delivers before ranks use it.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

/// One way of one link, filled with traffic of our own.
struct WayCalibration {
  std::string where;          ///< "host0 up", "rack0-spine down", "rank 0 to rank 1"
  std::string set;            ///< what that link was set to, as links are written
  double ceiling = 0;         ///< bit/s of payload that TCP can deliver at most
  double goodput = 0;         ///< bit/s that it did deliver
  double round_trip = 0;      ///< s, of small datagrams over the idle link; 0: not measured
  double round_trip_set = 0;  ///< s, of which the links on the way are to make so much
  double seconds = 0;         ///< of traffic that was measured
  int flows = 1;
  int attempts = 1;   ///< the last counts, which settled longest
  bool fills = true;  ///< else the ceiling is what all hosts together can send over it
  double ratio() const { return ceiling > 0 ? goodput / ceiling : 0; }
};

/// All links that a setting of the network has.
struct LinkCalibration {
  std::vector<WayCalibration> ways;
  std::string unmeasured;  ///< why there are none

  /// The way that is farthest off its ceiling; null without any.
  const WayCalibration* farthest() const;
};

}  // namespace thinpipe
