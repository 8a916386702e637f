// What of the environment bears on measurements.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace thinpipe {

/// The variables of this process that an allow-list names, and nothing else: how many threads
/// OpenMP uses, what Open MPI, UCX, the C library's allocator and CUDA are told, and thinpipe's
/// own. Environments hold passwords; what is not on the list is not looked at.
nlohmann::json measured_environment();

}  // namespace thinpipe
