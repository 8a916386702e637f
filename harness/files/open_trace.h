// A trace as a verb opens it: what of it is not there, what does not fit, what is not finite.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

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

/// Policy for gradients that hold a NaN or an infinity.
enum class BadValues {
  kRefuse,
  kZero,  ///< replace them by 0, as a mixed-precision trainer that skips bad values
};

/// `values` where all are finite, else a copy in `repaired` with 0 in place of the others.
/// @param where opens the message.
/// @throws InputError naming the first such element when they are to be refused.
std::span<const float> finite_values(std::span<const float> values, BadValues policy,
                                     const std::string& where, std::vector<float>& repaired);

}  // namespace thinpipe
