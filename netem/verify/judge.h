// Does a link hold? Compares measurements with settings, by bounds that have a reason.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netem/verify/link_report.h"

namespace thinpipe {

// docs/fidelity.md gives the reasons and what was measured of links that hold.

/// Goodput, of its ceiling; what `--tolerance` says. Also that of `run`'s calibration.
inline constexpr double kCeilingTolerance = 0.03;
/// A round trip of the idle link, of what was set; or so many s, whichever is more: an emulated
/// host is a process that has to be woken.
inline constexpr double kRoundTripTolerance = 0.05, kRoundTripSlack = 1e-3;
/// Tolerance of a full queue's delay: of its size over its rate; and so many s of scheduling.
inline constexpr double kQueueTolerance = 0.15, kQueueSlack = 3e-3;
/// A share that was set is outside the interval of what was counted once in so many links that
/// hold.
inline constexpr double kLossConfidence = 0.999;
/// Tolerance of the bytes let through after idling: of the bucket; and so many s of the rate, by
/// which timers and the receiver's clock may be off; and two frames.
inline constexpr double kBurstTolerance = 0.15, kBurstSlack = 50e-6;
/// A change of the rate is seen so many s after it was asked for: beyond this a schedule's points
/// are invalid, too.
inline constexpr double kChangeLatency = 20e-3;
/// iperf3 and ping agree with us within these; ping's process has to be woken for every answer.
inline constexpr double kToolTolerance = 0.05, kToolRoundTripTolerance = 0.1,
                        kToolRoundTripSlack = 1e-3;

struct LinkVerdict {
  std::vector<std::string> reasons;   ///< why it does not hold
  std::vector<std::string> warnings;  ///< what is suspicious: a tool that says otherwise
  std::vector<std::string> passed;    ///< what was judged and found as it was set
  /// Measures that a busy machine kept from being judged, with the reason: "goodput (idle 0.4 %)".
  std::vector<std::string> disturbed;
  /// True when everything that was judged was measured while the machine was quiet.
  bool valid() const { return disturbed.empty(); }
  /// True, false, or nothing when nothing that was measured can be held against what was set, or
  /// some of it not any more because the machine was busy.
  std::optional<bool> holds() const;
};

/// @param tolerance  of goodput
LinkVerdict judge(const LinkReport& report, double tolerance = kCeilingTolerance);

}  // namespace thinpipe
