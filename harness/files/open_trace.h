// Opens traces for verbs: reports incomplete traces, missing memory and values that are not finite.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace thinpipe {

/// Opens a trace's folder, or a synthetic trace by its text (docs/synthetic.md). For an incomplete
/// trace, prints the reason and the number of usable steps on standard error. @throws InputError
Trace open_trace(const std::filesystem::path& folder);

/// Opens a trace that has files. @throws InputError for a synthetic trace, too
Trace open_trace_files(const std::filesystem::path& folder);

/// Refuses a trace of generated gradients if they exceed the available memory. Accepts every trace
/// that is stored in files, because the system can evict the files' pages.
/// @param what  description for the message, such as "2 ranks of vgg19"
/// @param bytes  memory that will be in use at the same time
/// @throws InputError with the needed and the available memory
void require_memory(const Trace& trace, const std::string& what, double bytes);
/// Refuses a use of memory that exceeds the available memory.
/// @param subject, what, instead  as in "SUBJECT: needs at least 9 GB of memory (WHAT), but ...;
/// expected INSTEAD"
void require_memory(const std::string& subject, const std::string& what, double bytes,
                    const std::string& instead);

/// Returns the reason why a trace is incomplete, such as "rank 1: ended without closing its part;
/// ...". Returns a general phrase if the trace contains no reason.
std::string why_incomplete(const Trace& trace);

/// Policy for gradients with a NaN or an infinity.
enum class BadValues {
  kRefuse,
  kZero,  ///< replace them by 0, as a mixed-precision trainer that skips bad values
};

/// Returns `values` if all are finite. Else returns a copy in `repaired`, in which each NaN and
/// infinity is replaced by 0.
/// @param where  begin of the message
/// @throws InputError naming the first element that is not finite, if the policy refuses such
/// elements.
std::span<const float> finite_values(std::span<const float> values, BadValues policy,
                                     const std::string& where, std::vector<float>& repaired);

}  // namespace thinpipe
