// Tables of `thinpipe trace stats`: distributions and similarity of the gradients of a trace.
#pragma once

#include <string>
#include <vector>

#include "workloads/trace/stats/trace_stats.h"

namespace thinpipe {

/// Returns tables of at most 80 columns: one kind for distributions, one for decay and fits
/// (without and with error feedback), and one for similarity. A row has the means of a tensor over
/// the selected steps and ranks.
std::string stats_tables(const std::vector<GradientStats>& gradients,
                         const std::vector<SimilarityStats>& similarities,
                         const StatsOptions& options);

}  // namespace thinpipe
