// Which steps, ranks and tensors of a trace: options that several verbs of `trace` take.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/options/arguments.h"
#include "harness/options/option.h"
#include "workloads/trace/edit/edit.h"

namespace thinpipe {

/// `--out DIR`, required: a folder that is not there yet.
OptionInfo new_folder_option(const std::string& help);
/// `--steps LIST`: training steps, "0,10-20".
OptionInfo steps_option(const std::string& help);
/// `--ranks LIST`. @param default_value "" for all.
OptionInfo ranks_option(const std::string& help, const std::string& default_value = "");
/// `--tensors GLOB`, repeatable.
OptionInfo tensors_option(const std::string& help);

/// "3", "0,10-20": ranges with both ends. @throws InputError naming `option`.
std::vector<std::pair<std::uint64_t, std::uint64_t>> parse_ranges(const std::string& text,
                                                                  const std::string& option);

/// The parts that the three options name. @throws InputError where the trace has none of them.
SliceParts parts_of(const Trace& trace, const Arguments& arguments);

}  // namespace thinpipe
