// Checks before a sweep starts anything: they refuse impossible options, and records that were
// measured with other options.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "reports/record/record.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// All that can be said of a sweep before it writes or starts anything.
/// @throws InputError, RunError
void check_sweep(const SweepOptions& options, const Trace& trace);

/// Figures that stand in one file are drawn together.
/// @throws InputError when the records are of another trace
void check_same_trace(const Records& existing, const Trace& trace);

/// Every link that the sweep will set.
/// @throws InputError saying what is wrong with the topology.
std::vector<LinkSpec> all_links(const SweepOptions& options);

/// @throws InputError for a pattern that is unknown or serves no compressor of the sweep, and for a
/// compressor that no pattern of the sweep serves.
void check_patterns(const SweepOptions& options);

/// "topk:ratio=0.1 with PATTERN": pairs that the sweep leaves out because they cannot be.
std::vector<std::string> pairs_left_out(const SweepOptions& options);

/// @throws InputError when something cannot be run at a time scale that is asked for.
void check_time_scales(const SweepOptions& options);

/// Whether all of it can be done on a GPU, and there is one unless ranks have machines of their
/// own.
/// @throws InputError naming what cannot; RunError without a GPU
void check_on_device(const SweepOptions& options);

/// Settings that the points of one folder share: options that change figures and are no axis. The
/// header's `settings` (docs/records.md): options by name, `-` written `_`.
nlohmann::json settings_of(const SweepOptions& options);

/// Figures that stand in one file are drawn together.
/// @throws InputError naming the options that the records were measured with, and those of now
void check_same_settings(const Records& existing, const SweepOptions& options,
                         const nlohmann::json& settings);

}  // namespace thinpipe
