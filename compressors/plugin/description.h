// Reads a plug-in's description of itself and checks all of it.
#pragma once

#include <string>
#include <vector>

#include "compressors/plugin/thinpipe_plugin.h"
#include "compressors/registry.h"

namespace thinpipe {

/// Returns the methods of a plug-in, ready to be registered. `file` names it in messages. `plugin`
/// is the result of its entry function and must live as long as the methods. @throws InputError
/// naming the file, the method and the problem: another version of the interface, structs that are
/// too small, missing functions or texts, a name that is not allowed or that another method already
/// has, a parameter whose default is not allowed.
std::vector<MethodInfo> describe_plugin(const thinpipe_plugin* plugin, const std::string& file);

}  // namespace thinpipe
