// The figures of what compressors kept.
#pragma once

#include <vector>

#include "reports/figures/figures.h"
#include "reports/kept/kept.h"

namespace thinpipe {

/// Estimation quality against the ratio, as SIDCo's figure 1(c) has it; then k-hat / k, error and
/// drift by step. Those for which there are points. Throws RunError without gnuplot.
std::vector<Figure> kept_figures(const KeptSummary& summary);

}  // namespace thinpipe
