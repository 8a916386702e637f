// What the figures of gradients share: ticks, lines in legends.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/figures/figures.h"
#include "reports/gradients/summary.h"

namespace thinpipe::figures {

/// The style of a line to compare with: the ink of `none`, which no fit has.
inline constexpr std::size_t kReferenceStyle = 0;

std::string format_tick(double value);  ///< "0.02", "1e-4", "1e5": short at every power of ten
std::string format_step(double value);  ///< a whole number
/// A piece of a line in a style's colour, 14 x 14 px.
std::string line_svg(std::size_t style);
/// What a figure shows of a unit, with its title: the first and the last step without, the last
/// one with error feedback (the first would be as without). Those of them that have points.
std::vector<std::pair<std::string, const StatsGradient*>> drawn_gradients(const StatsUnit& unit);
/// The data's marker, then the fits' lines.
std::vector<LegendEntry> fit_legend();

}  // namespace thinpipe::figures
