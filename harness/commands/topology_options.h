// The options by which verbs take links and what they are part of.
#pragma once

#include <string>
#include <vector>

#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "netem/topology/spec.h"

namespace thinpipe {

/// `--topology`, a star by default.
OptionInfo topology_option();

/// `--ranks`: how many hosts. A file places its own number.
OptionInfo hosts_option(const std::string& default_value = "4", int fewest = 1);
int hosts_of(const Arguments& arguments, const TopologySpec& spec);

/// `--link SPEC`, 100 Mbit/s by default.
OptionInfo link_option(const std::string& help);

/// Completions of a link: its presets.
std::vector<std::string> link_suggestions();

/// `--tolerance PERCENT`, 3 by default.
OptionInfo tolerance_option(const std::string& help);

/// A paragraph for a verb's description: every kind with its settings.
std::string topology_help();

}  // namespace thinpipe
