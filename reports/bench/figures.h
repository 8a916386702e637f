// The figures of a bench.
#pragma once

#include <vector>

#include "reports/bench/bench.h"
#include "reports/figures/figures.h"

namespace thinpipe {

/// Speed-up over Top-k (SIDCo, figs. 1 and 14 to 17), encode and decode over the memory's limit,
/// time against size and against ratio, bits against error. Those for which there are points.
/// @throws RunError without gnuplot
std::vector<Figure> bench_figures(const BenchSummary& summary);

}  // namespace thinpipe
