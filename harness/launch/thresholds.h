// Limits beyond which a point is invalid. docs/fidelity.md, "When a point is not believed", has the
// reason of each limit. Constants of a single check's arithmetic stand beside that check.
#pragma once

namespace thinpipe {

/// Fraction by which a link's goodput may be above or below TCP's ceiling in the calibration.
inline constexpr double kGoodputTolerance = 0.03;
/// Fraction by which counted bytes may differ from the messages' bounds, or the bytes that left a
/// switch from those that came in.
inline constexpr double kWireTolerance = 0.02;
/// Bytes of ARP, keep-alives and acknowledgements that straddle the readings, of one host and step.
inline constexpr double kSlackBytes = 2000;
/// 5 % of the ranks' waits may overrun by kLateSeconds (base/machine_load.h) or, where that is
/// more, by this fraction of the median step.
inline constexpr double kLateShare = 0.01;
/// s by which 5 % of a schedule's changes may be late.
inline constexpr double kLateChangeSeconds = 0.02;
/// Fraction of a step by which ranks may begin exchanges off the planned time (time dilation).
inline constexpr double kSkewTolerance = 0.02;
/// Fraction of the aggregate's largest element: more is no rounding, and the point is failed.
inline constexpr double kErrorTolerance = 1e-5;

}  // namespace thinpipe
