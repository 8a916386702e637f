// Every distinct link of a sweep, held against what it was set to before its first point.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/launch/calibration.h"
#include "netem/link_spec.h"

namespace thinpipe {

class Launch;
class Machines;

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
