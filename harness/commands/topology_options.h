// Options for links and topologies.
#pragma once

#include <string>
#include <vector>

#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "netem/topology/spec.h"

namespace thinpipe {

/// Returns `--topology`, by default a star.
OptionInfo topology_option();

/// Returns `--ranks`, the number of hosts. A topology file defines its own number.
OptionInfo hosts_option(const std::string& default_value = "4", int fewest = 1);
int hosts_of(const Arguments& arguments, const TopologySpec& spec);

/// Returns `--link SPEC`, by default 100 Mbit/s.
OptionInfo link_option(const std::string& help);

/// Returns the completions of a link: the presets.
std::vector<std::string> link_suggestions();

/// Returns `--tolerance PERCENT`, by default 3.
OptionInfo tolerance_option(const std::string& help);

}  // namespace thinpipe
