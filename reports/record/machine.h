// Whether two fingerprints are of one machine.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace thinpipe {

/// What tells the machines of two fingerprints apart, each as "cpu: 'A' against 'B'": processor,
/// cores, hyper-threading, turbo, governor, caches, memory, limits, kernel, its timer's rate and
/// GPUs. Load and free memory change by the minute, and what was built is what is measured: these
/// are not looked at. A field that only one of them has (an older record) is none. Empty: the same.
std::vector<std::string> machine_differences(const nlohmann::json& one,
                                             const nlohmann::json& other);

/// The same of the whole that was measured with: also compiler, flags, thinpipe's version and
/// revision, MPI, its transports, congestion control, sysctls, qdiscs and environment.
std::vector<std::string> setting_differences(const nlohmann::json& one,
                                             const nlohmann::json& other);

}  // namespace thinpipe
