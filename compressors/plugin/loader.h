// Loads compressors from shared libraries; docs/plugins.md shows how to write one.
#pragma once

#include <filesystem>

namespace thinpipe {

/// Loads a plug-in and registers all of its methods or none; it stays loaded until the program
/// ends. Loading the same file again does nothing. References to methods() become invalid. Not
/// thread-safe; no compressor may run meanwhile.
/// @throws InputError naming the file and the problem; see describe_plugin.
void load_plugin(const std::filesystem::path& file);

}  // namespace thinpipe
