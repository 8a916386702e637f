// The part of a sweep's command line that says what its points are: `run` measures them, `predict`
// answers them from models. Options stand in the order in which help shows them.
#pragma once

#include <optional>
#include <vector>

#include "harness/hosts/hosts_options.h"
#include "harness/options/arguments.h"
#include "harness/options/option.h"
#include "harness/sweep/options.h"

namespace thinpipe {

/// `--trace`, required.
OptionInfo sweep_trace_option();
/// What is combined: compressors with their plug-ins, links, schedules, the topology, ranks.
std::vector<OptionInfo> sweep_axis_options();
/// `--steps` and `--warmup`.
std::vector<OptionInfo> sweep_step_options();
/// How a step goes: pattern, times, threads, instruction set.
std::vector<OptionInfo> sweep_replay_options();
/// `--non-finite`, `--seed`, `--no-baseline`.
std::vector<OptionInfo> sweep_value_options();

/// Joins lists of options: `{one, many}` in their order.
std::vector<OptionInfo> joined(std::vector<std::vector<OptionInfo>> lists);

/// What all of these options say; the rest of SweepOptions is as it is by default. Loads plug-ins
/// and sets the instruction set in force.
/// @param hosts       real machines instead of emulated ones; then there are as many ranks
/// @param most_ranks  that the verb takes
/// @throws InputError for what no run could measure
SweepOptions sweep_options_of(const Arguments& arguments, std::optional<HostsOptions> hosts,
                              int most_ranks);

/// Whether every schedule and every straggler fits every network of the sweep. @throws InputError
void check_schedules(const SweepOptions& options);

}  // namespace thinpipe
