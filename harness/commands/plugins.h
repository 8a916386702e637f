// `--plugin FILE`, for every verb that takes compressors.
#pragma once

#include <filesystem>
#include <vector>

#include "harness/options/arguments.h"
#include "harness/options/option.h"

namespace thinpipe {

/// The option, for the verb's table.
OptionInfo plugin_option();

/// Loads what `--plugin` names; call it before the first compressor is looked for. Returns absolute
/// paths, for processes that the verb starts.
/// @throws InputError naming the plug-in and what is wrong with it.
std::vector<std::filesystem::path> load_plugins(const Arguments& arguments);

}  // namespace thinpipe
