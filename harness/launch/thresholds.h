// From where on a point is not believed. docs/fidelity.md, "When a point is not believed", has the
// reason of each; what is only in one check's arithmetic stands beside that check.
#pragma once

namespace thinpipe {

/// Share by which a link's goodput may miss TCP's ceiling in the calibration, either way.
inline constexpr double kGoodputTolerance = 0.03;
/// Share by which counted bytes may miss what messages need, or what left a switch what came in.
inline constexpr double kWireTolerance = 0.02;
/// Bytes of ARP, keep-alives and acknowledgements that straddle the readings, of one host and step.
inline constexpr double kSlackBytes = 2000;
/// 5 % of the ranks' waits may end kLateSeconds late (base/machine_load.h) or, where that is more,
/// by this share of the median step.
inline constexpr double kLateShare = 0.01;
/// s by which 5 % of a schedule's changes may come late.
inline constexpr double kLateChangeSeconds = 0.02;
/// Share of a step by which ranks may begin exchanges apart from when they should (time scaling).
inline constexpr double kSkewTolerance = 0.02;
/// Fraction of the aggregate's largest element: more is no rounding, and the point is failed.
inline constexpr double kErrorTolerance = 1e-5;

}  // namespace thinpipe
