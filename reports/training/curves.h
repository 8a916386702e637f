// The curves of trainings, means over their seeds.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/training/summary.h"

namespace thinpipe {

/// `training.evaluations` of the used seeds, evaluation by evaluation: the means of the arrays `y`
/// over those of `x` (`steps`, `bytes` or `seconds`), with the 95 % interval of y's mean where
/// there are seeds enough. Seeds that evaluated another number of times count as far as they go.
std::vector<ChartPoint> evaluation_points(const TrainedGroup& group, const std::string& x,
                                          const std::string& y, double factor);

/// Payload bits an element by step, a mean over seeds and over so many steps that at most
/// kDrawnSteps points are left; the dense payload's 32 bits are where nothing is compressed.
std::vector<ChartPoint> bits_points(const TrainedGroup& group);
inline constexpr std::size_t kDrawnSteps = 100;

}  // namespace thinpipe
