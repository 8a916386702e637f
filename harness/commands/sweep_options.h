// The options of a sweep that define its points. `run` and `train` measure the points, `predict`
// models them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/hosts/hosts.h"
#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "harness/plan/plan.h"

namespace thinpipe {

/// Returns `--trace`.
OptionInfo sweep_trace_option();
/// Returns the axes of the sweep: compressors and plug-ins, links, schedules, topology, ranks.
std::vector<OptionInfo> sweep_axis_options();
/// Returns `--steps` and `--warmup`.
std::vector<OptionInfo> sweep_step_options();
/// Returns the options of a step: collective, bucketing, times, threads, instruction set.
std::vector<OptionInfo> sweep_replay_options();
/// Returns `--non-finite`, `--seed`, `--baseline`, `--no-baseline`.
std::vector<OptionInfo> sweep_value_options();
/// Returns the headings under which `--help` of run, train and predict lists their options.
std::vector<OptionGroup> sweep_groups();

/// Returns `--out`, required.
OptionInfo sweep_out_option();
/// Returns `--device`.
OptionInfo sweep_device_option();
/// Returns `--check-every`, `--timeout` and `--share-machine`. set_sweep_checks() reads these and
/// `--resume`.
std::vector<OptionInfo> sweep_checking_options(const std::string& every);
OptionInfo sweep_resume_option();
void set_sweep_checks(const Arguments& arguments, SweepOptions& options);

/// Returns the concatenation of lists of options.
std::vector<OptionInfo> joined(std::vector<std::vector<OptionInfo>> lists);

/// Reads the options of a sweep except `--trace` and `--warmup`, which not every verb has. Other
/// members of SweepOptions keep their defaults. Also loads the plug-ins and selects the instruction
/// set.
/// @param hosts  real machines to use instead of emulated hosts; they set the default number of
/// ranks
/// @param most_ranks  maximum number of ranks
/// @param ranks_option  name of the option for the number of ranks
/// @throws InputError for a sweep that cannot run
SweepOptions sweep_options_of(const Arguments& arguments, std::optional<HostsOptions> hosts,
                              int most_ranks, const char* ranks_option = "ranks");

/// Parses factors such as `1|2|4`, without duplicates. `auto` is kAutoTimeScale
/// (harness/plan/plan.h). @throws InputError for any other text and for a number outside 0.001 to
/// 1000
std::vector<double> parse_time_scales(const std::string& text);

/// Parses one factor, for `--time-scale` of `report`. @throws InputError as above
double parse_time_scale(const std::string& text);

/// Checks that every schedule and straggler fits every network of the sweep. @throws InputError
void check_schedules(const SweepOptions& options);

/// Options for model and training data of `train` and `capture`.
OptionInfo model_option();
OptionInfo batch_option();
OptionInfo data_option();

}  // namespace thinpipe
