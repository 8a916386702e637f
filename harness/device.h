// Where compressors run: names that options and records have for it.
#pragma once

#include <string>

namespace thinpipe {

inline constexpr const char* kDeviceCpu = "cpu";
inline constexpr const char* kDeviceCuda = "cuda";

/// @throws InputError for what is no name of a device
void check_device(const std::string& name);

/// @throws RunError without a GPU that this build can use, saying why and what to do
void require_gpu();

}  // namespace thinpipe
