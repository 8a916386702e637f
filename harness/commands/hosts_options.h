// The options of `run` that take it to real machines.
#pragma once

#include <optional>
#include <vector>

#include "harness/options/arguments.h"
#include "harness/options/option.h"
#include "harness/sweep/options.h"

namespace thinpipe {

std::vector<OptionInfo> hosts_options();

/// What they say; nothing without --hosts. @throws InputError for a bad hostfile, no allocation,
/// and options that only make sense together.
std::optional<HostsOptions> hosts_of(const Arguments& arguments);

/// Whether the run fits the machines. `link_given`, `schedule_given`: by the user, not by default.
/// @throws InputError
void check_hosts(const HostsOptions& hosts, const SweepOptions& options, bool link_given,
                 bool schedule_given);

}  // namespace thinpipe
