// The link rate below which a compressor should pay.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>

namespace thinpipe {

/// Where the difference of two predicted step times changes its sign.
struct PredictedBreakEven {
  /// bit/s: the highest at which it pays below and does not above; nothing where there is none
  std::optional<double> rate;
  bool pays_at_least = false;  ///< at the lowest rate that was looked at
  bool pays_at_most = false;   ///< at the highest
};

inline constexpr double kLeastRate = 1e5;  ///< bit/s looked at
inline constexpr double kMostRate = 100e9;

/// @param gain  seconds that a step is shorter with the compressor on a link of that rate. Looked
/// at ten times a decade, then bisected to a thousandth.
PredictedBreakEven predicted_break_even(const std::function<double(double rate)>& gain,
                                        double least = kLeastRate, double most = kMostRate);

/// `rate` (or null), `pays_at_least_rate`, `pays_at_most_rate`.
nlohmann::json break_even_json(const PredictedBreakEven& result);

}  // namespace thinpipe
