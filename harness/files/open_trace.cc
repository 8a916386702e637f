#include "harness/files/open_trace.h"

#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace thinpipe {

std::string why_incomplete(const Trace& trace) {
  if (trace.missing().empty()) return "its capture did not come to an end";
  return fmt::format("{}", fmt::join(trace.missing(), "; "));
}

Trace open_trace(const std::filesystem::path& folder) {
  Trace trace(folder);
  if (!trace.complete()) {
    fmt::print(stderr, "note: {} is incomplete ({}); the {} {} that it holds {} used\n",
               folder.string(), why_incomplete(trace), trace.steps(),
               trace.steps() == 1 ? "step" : "steps", trace.steps() == 1 ? "is" : "are");
  }
  return trace;
}

}  // namespace thinpipe
