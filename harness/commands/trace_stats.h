// `thinpipe trace stats`, how a trace's gradients are distributed and how alike they are: its
// tables.
#pragma once

#include <string>
#include <vector>

#include "workloads/trace/stats/trace_stats.h"

namespace thinpipe {

/// Tables of 80 columns: distributions; decay and fits without and with error feedback;
/// similarity. A row is a tensor's mean over the steps and ranks that were looked at.
std::string stats_tables(const std::vector<GradientStats>& gradients,
                         const std::vector<SimilarityStats>& similarities,
                         const StatsOptions& options);

}  // namespace thinpipe
