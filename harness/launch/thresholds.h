// Limits beyond which a point is invalid. docs/fidelity.md, "When a point is not believed", has the
// reason of each limit. Constants of a single check's arithmetic stand beside that check.
#pragma once

namespace thinpipe {

/// Fraction by which a link's goodput may be above or below TCP's ceiling in the calibration.
inline constexpr double kGoodputTolerance = 0.03;
/// Fraction by which the bytes counted on links may lie outside the bounds computed from the
/// messages. Also the fraction by which a switch's outgoing bytes may differ from its incoming
/// bytes.
inline constexpr double kWireTolerance = 0.02;
/// Bytes of ARP, keep-alives and acknowledgements that straddle the readings, of one host and step.
inline constexpr double kSlackBytes = 2000;
/// At most 5 % of the ranks' timed waits may overrun by kLateSeconds (base/machine_load.h) or by
/// this fraction of the median step, whichever is greater.
inline constexpr double kLateShare = 0.01;
/// s by which 5 % of a schedule's changes may be late.
inline constexpr double kLateChangeSeconds = 0.02;
/// Fraction of a step by which ranks may begin exchanges off the planned time (time dilation).
inline constexpr double kSkewTolerance = 0.02;
/// Fraction of the aggregate's largest element: more is no rounding, and the point is failed.
inline constexpr double kErrorTolerance = 1e-5;

}  // namespace thinpipe
