// Loads compressors from shared libraries; docs/plugins.md shows how to write one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compressors/registry.h"

struct thinpipe_plugin;  // plugin/thinpipe_plugin.h

namespace thinpipe {

/// Loads a plug-in and registers all of its methods or none; it stays loaded until the program
/// ends. Loading the same file again does nothing. References to methods() become invalid. Not
/// thread-safe; no compressor may run meanwhile.
/// @throws InputError naming the file and the problem; see describe_plugin.
void load_plugin(const std::filesystem::path& file);

/// Returns the methods of a plug-in, ready to be registered. `file` names it in messages. `plugin`
/// is the result of its entry function and must live as long as the methods. @throws InputError
/// naming the file, the method and the problem: another version of the interface, structs that are
/// too small, missing functions or texts, a name that is not allowed or that another method already
/// has, a parameter whose default is not allowed.
std::vector<MethodInfo> describe_plugin(const thinpipe_plugin* plugin, const std::string& file);

}  // namespace thinpipe
