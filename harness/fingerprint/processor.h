// What of processor, memory and kernel decides how fast things are.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace thinpipe {

/// `smt` (do cores run two threads each?), `turbo` (may the clock exceed its nominal rate?),
/// `l1d_bytes`, `l2_bytes`, `l3_bytes`, `memory_bytes` (installed), `cpu_limit` (cores' worth of
/// time that the control group allows) and `memory_limit_bytes`, `hz` (the kernel's timer ticks a
/// second). Null where there is no limit, or the system does not say.
/// `root` is "/" but in tests.
nlohmann::json processor_description(const std::filesystem::path& root);

}  // namespace thinpipe
