// Calibration: what every distinct link of a sweep delivers before its first point, held against
// what it was set to.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "netem/link/link_spec.h"

namespace thinpipe {

class Launch;
class Machines;

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

/// One link, on so many machines.
struct CalibratedLink {
  enum class Verdict {
    kHolds,       ///< every way of it is within kGoodputTolerance of its ceiling
    kOff,         ///< one is not
    kUnjudged,    ///< measured, but the network was left as it is
    kUnmeasured,  ///< there is nothing to hold against a ceiling
    kBroken,      ///< traffic did not come through
  };
  std::string link;       ///< as it was set, canonical
  double time_scale = 1;  ///< by which it and all other links were slowed down
  int machines = 0;
  bool judged = true;
  double seconds = 0;  ///< that it took
  LinkCalibration figures;
  std::string error;  ///< what broke it

  Verdict verdict() const;
  /// For people: "calibrated rate=100mbit: host0 up 95.6 Mbit/s, ...".
  std::string to_string() const;
};

/// `holds`, `off`, `unjudged`, `unmeasured` or `broken`, as records write it.
const char* verdict_name(CalibratedLink::Verdict verdict);

/// Measures links once, and remembers what they came to.
class Calibrator {
 public:
  /// null while it has not been measured on so many machines.
  const CalibratedLink* find(const Machines& machines, const LinkSpec& link,
                             double time_scale) const;
  /// Measures the link in slow motion; see Machines::calibrate(). It stays set.
  /// @throws RunError when traffic does not come through (which is remembered, and speaks against
  /// the link's points) or a stop was asked for (which is not).
  const CalibratedLink& calibrate(Machines& machines, const LinkSpec& link, double time_scale,
                                  Launch* launch);
  /// The header's `calibration` of docs/records.md.
  nlohmann::json record() const;

 private:
  std::vector<CalibratedLink> links_;
};

}  // namespace thinpipe
