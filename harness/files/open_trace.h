// Opens a trace for a verb that will use its gradients, and says where it is not all there.
#pragma once

#include <filesystem>
#include <string>

#include "workloads/trace/trace.h"

namespace thinpipe {

/// As Trace's constructor; of an incomplete trace a line on standard error says why, and how many
/// steps there are to use. @throws InputError
Trace open_trace(const std::filesystem::path& folder);

/// "rank 1: ended without closing its part; ...", or a general word where the trace gives no
/// reason.
std::string why_incomplete(const Trace& trace);

}  // namespace thinpipe
