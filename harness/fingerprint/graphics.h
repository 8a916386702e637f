// The NVIDIA GPUs of this machine, without loading anything of CUDA.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace thinpipe {

/// An object with `driver` (version of the kernel module) and `models`, a name for each card; null
/// without the module. Clocks change while a program runs: who measures on a GPU records them.
/// `root` is "/" but in tests.
nlohmann::json graphics_description(const std::filesystem::path& root);

}  // namespace thinpipe
