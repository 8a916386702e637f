// `thinpipe trace import`, `slice`, `merge` and `export`, which make a trace or files of one; and
// the options by which verbs of `trace` take steps, ranks and tensors.
#pragma once

#include <string>

#include "harness/options/arguments.h"
#include "harness/options/verb.h"
#include "workloads/trace/edit/edit.h"

namespace thinpipe {

/// `--steps LIST`: training steps, "0,10-20".
OptionInfo steps_option(const std::string& help);
/// `--ranks LIST`. @param default_value "" for all.
OptionInfo ranks_option(const std::string& help, const std::string& default_value = "");
/// `--tensors GLOB`, repeatable.
OptionInfo tensors_option(const std::string& help);

/// The parts that the three options name. @throws InputError where the trace has none of them.
SliceParts parts_of(const Trace& trace, const Arguments& arguments);

}  // namespace thinpipe
