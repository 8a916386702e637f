// The part of a sweep's command line that says what its points are: `run` measures them, `predict`
// answers them from models. Options stand in the order in which help shows them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/hosts/hosts.h"
#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "harness/plan/plan.h"

namespace thinpipe {

/// `--trace`, required.
OptionInfo sweep_trace_option();
/// Axes of the sweep: compressors with their plug-ins, links, schedules, the topology, ranks.
std::vector<OptionInfo> sweep_axis_options();
/// `--steps` and `--warmup`.
std::vector<OptionInfo> sweep_step_options();
/// How a step goes: pattern, times, threads, instruction set.
std::vector<OptionInfo> sweep_replay_options();
/// `--non-finite`, `--seed`, `--baseline`, `--no-baseline`.
std::vector<OptionInfo> sweep_value_options();

/// `--out`, required.
OptionInfo sweep_out_option();
/// `--device`.
OptionInfo sweep_device_option();
/// `--check-every`, `--patience`, `--share-machine`; with `--resume` what set_sweep_checks() takes.
std::vector<OptionInfo> sweep_checking_options(const std::string& every);
OptionInfo sweep_resume_option();
void set_sweep_checks(const Arguments& arguments, SweepOptions& options);

/// Joins lists of options: `{one, many}` in their order.
std::vector<OptionInfo> joined(std::vector<std::vector<OptionInfo>> lists);

/// Reads these options except `--trace` and `--warmup`, which not every verb has; the rest of
/// SweepOptions is as it is by default. Loads plug-ins and sets the instruction set in force.
/// @param hosts       real machines instead of emulated ones; then there are as many ranks
/// @param most_ranks  that the verb takes
/// @param ranks_option  in which it takes them
/// @throws InputError for what no run could measure
SweepOptions sweep_options_of(const Arguments& arguments, std::optional<HostsOptions> hosts,
                              int most_ranks, const char* ranks_option = "ranks");

/// Whether every schedule and every straggler fits every network of the sweep. @throws InputError
void check_schedules(const SweepOptions& options);

/// Model and training data of `train` and `capture`.
OptionInfo model_option();  ///< required
OptionInfo batch_option();
OptionInfo data_option();

}  // namespace thinpipe
