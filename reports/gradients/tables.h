// Tables of statistics of gradients, a row a tensor.
#pragma once

#include "reports/gradients/summary.h"
#include "reports/tables/table.h"

namespace thinpipe {

/// Elements, zeros, moments.
Table stats_moments_table(const StatsSummary& summary);
/// Decay, best-k errors and distances, the nearest fit set off; without rows where the gradients
/// were not looked at so.
Table stats_fits_table(const StatsSummary& summary, bool feedback);
/// Cosines and shared places; without rows where there was nothing to compare.
Table stats_alike_table(const StatsSummary& summary);

}  // namespace thinpipe
