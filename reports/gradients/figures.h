// The figures of statistics of gradients: SIDCo's figures 2, 7 and 8, and how things change by
// step.
#pragma once

#include <vector>

#include "reports/figures/figures.h"
#include "reports/gradients/summary.h"

namespace thinpipe {

/// Of the whole model (or the largest tensor): densities and tails with their fits, decay and
/// best-k error, these and the fits' distances by step, similarity by step; then densities of the
/// largest tensors. Those for which there are points. Throws RunError without gnuplot.
std::vector<Figure> stats_figures(const StatsSummary& summary);

namespace figures {

Figure densities(const StatsSummary& summary);    ///< figs. 2a, 2c, 8a, 8c
Figure tails(const StatsSummary& summary);        ///< figs. 2b, 2d, 8b, 8d, as what is beyond
Figure power_decay(const StatsSummary& summary);  ///< fig. 7a
Figure best_k(const StatsSummary& summary);       ///< fig. 7b
Figure fits_by_step(const StatsSummary& summary);
Figure decay_by_step(const StatsSummary& summary);
Figure similarity_by_step(const StatsSummary& summary);
Figure tensor_densities(const StatsSummary& summary);

}  // namespace figures
}  // namespace thinpipe
