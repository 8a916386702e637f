// Options of the verbs that run programs of the user on emulated hosts.
#pragma once

#include <string>
#include <vector>

#include "harness/job/program_network.h"
#include "harness/options/arguments.h"
#include "harness/options/verb.h"

namespace thinpipe {

/// Returns --link, --topology, --ranks and --schedule, then `own`, then --quiet.
std::vector<OptionInfo> with_program_options(std::vector<OptionInfo> own,
                                             const std::string& quiet_help);

/// Returns the network of these options. @throws InputError
ProgramNetwork program_network_of(const Arguments& arguments);

}  // namespace thinpipe
