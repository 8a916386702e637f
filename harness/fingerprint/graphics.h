// The NVIDIA GPUs of this machine, without loading anything of CUDA.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace thinpipe {

/// An object with `card`, what is there and how it is set: `driver` (version of the kernel module),
/// `models` (a name for each card) and `clocks`; and `clocks`, what the cards run at just now,
/// which changes with their load. Clocks are an array with an object a card, `sm_hz` and
/// `memory_hz`; of `card` also those that were set for applications (`set_sm_hz`, `set_memory_hz`)
/// and the others are the highest there are. They are asked of nvidia-smi: null without it, or when
/// it fails or takes more than 10 s; single ones are null where a card does not tell. Both members
/// are null without the module. `root` is "/" but in tests; nvidia-smi is looked for in PATH.
nlohmann::json graphics_description(const std::filesystem::path& root);

}  // namespace thinpipe
