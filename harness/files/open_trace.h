// Opens a trace for a verb that will use its gradients, and says where it is not all there.
#pragma once

#include <filesystem>
#include <string>

#include "workloads/trace/trace.h"

namespace thinpipe {

/// A trace's folder, or the text of a synthetic one (docs/synthetic.md); of an incomplete trace a
/// line on standard error says why, and how many steps there are to use. @throws InputError
Trace open_trace(const std::filesystem::path& folder);

/// The same for what works on a trace's files. @throws InputError for a synthetic one, too
Trace open_trace_files(const std::filesystem::path& folder);

/// Refuses gradients that cannot be held. Nothing for a trace in files, whose pages the system
/// takes away when it must.
/// @param what   "2 ranks of vgg19" for the message
/// @param bytes  that will be held at once
/// @throws InputError saying how much is needed and how much there is
void require_memory(const Trace& trace, const std::string& what, double bytes);

/// "rank 1: ended without closing its part; ...", or a general word where the trace gives no
/// reason.
std::string why_incomplete(const Trace& trace);

}  // namespace thinpipe
