// The option by which verbs take a topology.
#pragma once

#include <string>

#include "harness/options/arguments.h"
#include "harness/options/option.h"
#include "netem/topology/spec.h"

namespace thinpipe {

/// `--topology`, a star by default.
OptionInfo topology_option();

/// `--ranks`: how many hosts. A file places its own number.
OptionInfo hosts_option();
int hosts_of(const Arguments& arguments, const TopologySpec& spec);

/// A paragraph for a verb's description: every kind with its settings.
std::string topology_help();

}  // namespace thinpipe
