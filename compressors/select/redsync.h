// RedSync's thresholds between the mean and the greatest magnitude.
#pragma once

#include <memory>

#include "compressors/select/ratio.h"
#include "compressors/select/selector.h"

namespace thinpipe {

struct RedSyncOptions {
  RatioSchedule ratio = {};
  bool trim = false;  ///< lower the threshold in steps until at least k exceed it
};

/// With m the mean and M the greatest magnitude, thresholds are t(q) = m + q (M - m), and z of the
/// elements exceed the one that is probed (Fang et al., RedSync, 2019):
/// * bisection: lo = 0, hi = 1; while hi - lo > 0.2: q = (lo + hi) / 2; stop where k < z < 2k; else
///   hi = q where z < k / 2, and lo = q otherwise;
/// * trim: q = 0.8, 0.6, 0.4, ... (below 0 as well) until z >= k, at most 32 of them.
/// What exceeds the last threshold probed is sent, however many that is.
std::unique_ptr<Selector> make_redsync_selector(std::size_t elements,
                                                const RedSyncOptions& options);

}  // namespace thinpipe
