// Reads what a plug-in says of itself, trusting none of it.
#pragma once

#include <string>
#include <vector>

#include "compressors/plugin/thinpipe_plugin.h"
#include "compressors/registry.h"

namespace thinpipe {

/// The methods of a plug-in, ready to be registered. `file` names it in messages; `plugin` is what
/// its entry returned and must live as long as the methods.
/// @throws InputError naming the file, the method and what is wrong: another version, structs that
/// are too small, missing functions or texts, names that are not allowed or taken (by a registered
/// method, or twice), parameters whose default is not allowed.
std::vector<MethodInfo> describe_plugin(const thinpipe_plugin* plugin, const std::string& file);

}  // namespace thinpipe
