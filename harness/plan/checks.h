// Checks before a sweep starts: refuse impossible options, and records measured with other options.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "reports/record/record.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Makes all checks that are possible before a sweep writes or starts anything.
/// @throws InputError, RunError
void check_sweep(const SweepOptions& options, const Trace& trace);

/// Prints a warning for each pattern of compressor rules that matches no tensor of the trace, with
/// the tensor whose name is nearest. Tensors without a rule go uncompressed, so a misspelt pattern
/// would measure another compressor than its name says.
void warn_of_rules(const std::vector<CompressorRules>& compressors, const Trace& trace);

/// Checks that the records are of this trace, because figures in one file are drawn together.
/// @throws InputError when the records are of a different trace
void check_same_trace(const Records& existing, const Trace& trace);

/// Returns every link that the sweep will set.
/// @throws InputError describing the error in the topology.
std::vector<LinkSpec> all_links(const SweepOptions& options);

/// @throws InputError for an unknown collective, for a collective that can exchange no compressor
/// of the sweep, and for a compressor that no collective of the sweep can exchange.
void check_collectives(const SweepOptions& options);

/// Returns the first collective whose servers have the model and its optimiser
/// (`ps:update=servers`), or null.
const Spec* with_updating_servers(const SweepOptions& options);

/// @throws InputError for servers that have the model, of which a trace has only gradients
void check_trace_suffices(const SweepOptions& options);

/// Returns the pairs that the sweep leaves out because the collective cannot exchange the
/// compressor's payloads: "topk:ratio=0.1 with COLLECTIVE".
std::vector<std::string> pairs_left_out(const SweepOptions& options);

/// @throws InputError for fragments of the model with an option that fragments cannot have
void check_fragments(const SweepOptions& options);

/// @throws InputError when a requested time scale cannot be run.
void check_time_scales(const SweepOptions& options);

/// Checks that the sweep can run on a GPU, and that there is one, unless ranks have machines of
/// their own.
/// @throws InputError naming the option that cannot; RunError without a GPU
void check_on_device(const SweepOptions& options);

/// Checks that SimGrid can simulate the sweep. @throws InputError naming the option that it cannot
void check_simulated(const SweepOptions& options);

/// Returns the settings that all points of one folder share: options that change measured figures
/// but are no axis of the sweep. They become the header's `settings` (docs/records.md), by option
/// name with `-` written `_`.
nlohmann::json settings_of(const SweepOptions& options);

/// Checks that the records were measured with these settings, because figures in one file are drawn
/// together.
/// @throws InputError naming the options of the records, and the present ones
void check_same_settings(const Records& existing, const SweepOptions& options,
                         const nlohmann::json& settings);

}  // namespace thinpipe
