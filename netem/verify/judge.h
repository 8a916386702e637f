// Decides whether a link passes calibration: compares measurements with settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netem/verify/link_report.h"

namespace thinpipe {

// docs/fidelity.md has the reasons for these bounds, and measurements of links that pass.

/// Goodput, relative to the TCP ceiling. Default of `--tolerance`, and the bound of `run`'s
/// calibration.
inline constexpr double kCeilingTolerance = 0.03;
/// Tolerance of the idle link's RTT: relative to the set RTT, or in s, whichever is more. The
/// tolerance in s is for the process that measures, which the kernel must wake.
inline constexpr double kRoundTripTolerance = 0.05, kRoundTripSlack = 1e-3;
/// Bufferbloat delay of a full queue, relative to queue size over rate; plus s of scheduling.
inline constexpr double kQueueTolerance = 0.15, kQueueSlack = 3e-3;
/// Confidence of the loss interval: the set loss is outside for one in a thousand correct links.
inline constexpr double kLossConfidence = 0.999;
/// Tolerance of the token-bucket depth: a fraction of the set depth, plus the bytes that the link's
/// rate passes in kBurstSlack s, plus two frames. kBurstSlack is for errors of timers and of the
/// receiver's clock.
inline constexpr double kBurstTolerance = 0.15, kBurstSlack = 50e-6;
/// Latency of a rate change in s. Beyond this, a schedule's points are invalid as well.
inline constexpr double kChangeLatency = 20e-3;
/// Agreement with iperf3 and ping. ping's process has to be woken for every reply.
inline constexpr double kToolTolerance = 0.05, kToolRoundTripTolerance = 0.1,
                        kToolRoundTripSlack = 1e-3;

struct LinkVerdict {
  std::vector<std::string> reasons;   ///< why the link fails calibration
  std::vector<std::string> warnings;  ///< disagreements with iperf3 or ping
  std::vector<std::string> passed;    ///< checks that passed
  /// Measures without a verdict because the machine was busy: "goodput (idle 0.4 %)".
  std::vector<std::string> disturbed;
  /// Returns true if the machine was quiet during every judged measure.
  bool valid() const { return disturbed.empty(); }
  /// Returns false if at least one measure fails, true if every measure that has an expected value
  /// passes. Returns nothing if no measure has an expected value, or if none fails and the machine
  /// was too busy to judge some.
  std::optional<bool> holds() const;
};

/// Compares a report with the link's settings.
/// @param tolerance  of goodput
LinkVerdict judge(const LinkReport& report, double tolerance = kCeilingTolerance);

}  // namespace thinpipe
