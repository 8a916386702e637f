// Calibration: measures every distinct link of a sweep before the sweep's first point, and compares
// each link with its settings.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "netem/link/link_spec.h"

namespace thinpipe {

class Launch;
class Machines;

/// One direction of one link, filled with test traffic.
struct WayCalibration {
  std::string where;          ///< "host0 up", "rack0-spine down", "rank 0 to rank 1"
  std::string set;            ///< settings of that link, as a link specification
  double ceiling = 0;         ///< highest payload rate that TCP can deliver, in bit/s
  double goodput = 0;         ///< payload rate that TCP did deliver, in bit/s
  double round_trip = 0;      ///< s, of small datagrams over the idle link; 0: not measured
  double round_trip_set = 0;  ///< s of delay that the links on the path are set to add to it
  double seconds = 0;         ///< of measured traffic
  int flows = 1;
  int attempts = 1;   ///< the last counts, which settled longest
  bool fills = true;  ///< else the ceiling is the rate that all hosts together can send over it
  double ratio() const { return ceiling > 0 ? goodput / ceiling : 0; }
};

/// All links of one network.
struct LinkCalibration {
  std::vector<WayCalibration> ways;
  std::string unmeasured;  ///< reason why `ways` is empty

  /// Returns the direction farthest off its ceiling; null without any.
  const WayCalibration* farthest() const;
};

/// One link, on a number of machines.
struct CalibratedLink {
  enum class Verdict {
    kHolds,       ///< every direction is within kGoodputTolerance of its ceiling
    kOff,         ///< a direction is not
    kUnjudged,    ///< measured, but the network was left as it is
    kUnmeasured,  ///< nothing to compare with a ceiling
    kBroken,      ///< no traffic passed
  };
  std::string link;       ///< canonical specification of the link as set
  double time_scale = 1;  ///< time dilation of this and all other links
  int machines = 0;
  bool judged = true;
  double seconds = 0;  ///< duration of the calibration
  LinkCalibration figures;
  std::string error;  ///< of a calibration that failed

  Verdict verdict() const;
  /// Returns a line for people: "calibrated rate=100mbit: host0 up 95.6 Mbit/s, ...".
  std::string to_string() const;
};

/// Measures every link once and stores the results.
class Calibrator {
 public:
  /// Returns the link's calibration on so many machines; null before it was measured.
  const CalibratedLink* find(const Machines& machines, const LinkSpec& link,
                             double time_scale) const;
  /// Measures the link under time dilation by Machines::calibrate(), and stores the result.
  /// Afterwards the link stays set.
  /// @throws RunError when no traffic passes or a stop was requested. A link without traffic is
  /// stored, which makes its points invalid; a stop is not stored.
  const CalibratedLink& calibrate(Machines& machines, const LinkSpec& link, double time_scale,
                                  Launch* launch);
  /// Stores the link as not measured, which does not make its points invalid.
  /// @param reason  recorded, and shown in reports
  void skip(const Machines& machines, const LinkSpec& link, double time_scale,
            const std::string& reason);
  /// Returns the header's `calibration` of docs/records.md.
  nlohmann::json record() const;

 private:
  std::vector<CalibratedLink> links_;
};

}  // namespace thinpipe
