// `thinpipe trace import`, `slice`, `merge` and `export`, and the options of `trace` for steps,
// ranks and tensors.
#pragma once

#include <string>

#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "workloads/trace/edit/edit.h"

namespace thinpipe {

/// Returns `--steps LIST`: training steps, "0,10-20".
OptionInfo steps_option(const std::string& help);
/// Returns `--ranks LIST`. @param default_value  "" for all ranks
OptionInfo ranks_option(const std::string& help, const std::string& default_value = "");
/// Returns `--tensors GLOB`, repeatable.
OptionInfo tensors_option(const std::string& help);

/// Returns the selection by these options. @throws InputError if the trace lacks a selected part
SliceParts parts_of(const Trace& trace, const Arguments& arguments);

}  // namespace thinpipe
