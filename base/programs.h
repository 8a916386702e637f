// Programs of the system.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "base/text.h"

namespace thinpipe {

/// Returns true for a file that may be executed.
inline bool is_executable(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

/// Returns the path of a program ("mpirun") in PATH; nothing where PATH does not have it.
inline std::optional<std::filesystem::path> find_in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path ? path : "/usr/local/bin:/usr/bin:/bin", ':')) {
    const std::filesystem::path candidate =
        std::filesystem::path(folder.empty() ? "." : folder) / name;
    if (is_executable(candidate)) return candidate;
  }
  return std::nullopt;
}

}  // namespace thinpipe
