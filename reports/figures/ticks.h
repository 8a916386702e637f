// Axis ranges and ticks, chosen here so that drawing and tooltips agree on every pixel.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

/// Shares of an axis that labels need: a line of text on an upright one, "100 ms" on a level one.
inline constexpr double kClosestTicks = 1.0 / 9;
inline constexpr double kClosestLevelTicks = 1.0 / 7;

struct Range {
  double low = 0;
  double high = 1;
};

/// The range of `values` with 6 % air on both sides (on a logarithmic axis: of the logarithms).
/// Equal values get room around them. At least one value; positive ones for a logarithmic axis.
Range padded_range(const std::vector<double>& values, bool is_log);

/// About `count` ticks at 1, 2 or 5 times a power of ten, all inside the range.
std::vector<double> linear_ticks(const Range& range, int count);

/// The same, but fewer where two neighbours would get the same label from `format`.
std::vector<double> readable_ticks(const Range& range, int count, std::string (*format)(double));

/// Powers of ten; with 2 and 5 between them where the range spans fewer than 3 decades.
/// Thinned so that neighbours are at least `closest` of the axis apart.
std::vector<double> log_ticks(const Range& range, double closest = kClosestTicks);

/// Those of `values` that lie inside the range and are far enough apart to be labelled.
std::vector<double> thinned(const std::vector<double>& values, const Range& range, bool is_log,
                            double closest = kClosestTicks);

}  // namespace thinpipe
