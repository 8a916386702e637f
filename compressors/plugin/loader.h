// Loads compressors from shared libraries; docs/plugins.md says how to write one.
#pragma once

#include <filesystem>

namespace thinpipe {

/// Loads a plug-in and registers its methods, all or none; it stays loaded until the program ends.
/// Loading the same file again does nothing. References to methods() become invalid. Not
/// thread-safe; run no compressor meanwhile.
/// @throws InputError naming the file and what is wrong with it; see describe_plugin.
void load_plugin(const std::filesystem::path& file);

}  // namespace thinpipe
