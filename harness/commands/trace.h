// Parts of the verbs of `trace` that other files use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "workloads/trace/edit/edit.h"
#include "workloads/trace/stats/trace_stats.h"

namespace thinpipe {

/// Returns `--steps LIST`: training steps, "0,10-20".
OptionInfo steps_option(const std::string& help);
/// Returns `--ranks LIST`. @param default_value  "" for all ranks
OptionInfo ranks_option(const std::string& help, const std::string& default_value = "");
/// Returns `--tensors GLOB`, repeatable.
OptionInfo tensors_option(const std::string& help);

/// Returns the selection by these options. @throws InputError if the trace lacks a selected part
SliceParts parts_of(const Trace& trace, const Arguments& arguments);

/// Returns the options of `trace export` that are for --format chakra alone.
std::vector<OptionInfo> chakra_options();
/// Checks these options, and returns the action that exports execution traces.
/// @throws InputError; RunError if this build lacks the protobuf library
Action prepare_chakra_export(const Arguments& arguments, const std::shared_ptr<const Trace>& trace,
                             const SliceParts& parts);

/// Returns the tables of `trace stats`, of at most 80 columns: one kind for distributions, one for
/// decay and fits (without and with error feedback), and one for similarity. A row has the means of
/// a tensor over the selected steps and ranks.
std::string stats_tables(const std::vector<GradientStats>& gradients,
                         const std::vector<SimilarityStats>& similarities,
                         const StatsOptions& options);

}  // namespace thinpipe
