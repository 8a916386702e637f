// Whether a shared library's file is whole.
#pragma once

#include <filesystem>
#include <string>

namespace thinpipe {

/// Returns what is wrong with a file that dlopen would die of: the dynamic loader maps what the
/// headers promise and believes it, so that a library cut short by a full disk or a broken download
/// ends the program with SIGBUS. Empty for a file whose headers, segments, sections and dynamic
/// tables lie within it, and for one that cannot be opened: dlopen says that better.
std::string damage_of_library(const std::filesystem::path& file);

}  // namespace thinpipe
