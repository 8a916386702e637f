#include "harness/files/open_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstddef>

#include "base/error.h"
#include "base/units.h"
#include "compressors/kernels/sums.h"
#include "harness/machine/machine.h"
#include "harness/options/terminal.h"
#include "workloads/synthetic/synthetic.h"
#include "workloads/trace/trace_format.h"

namespace thinpipe {

std::string why_incomplete(const Trace& trace) {
  if (trace.missing().empty()) return "its capture did not finish";
  return fmt::format("{}", fmt::join(trace.missing(), "; "));
}

Trace open_trace(const std::filesystem::path& folder) {
  Trace trace = open_gradients(folder);
  if (!trace.complete())
    tell_user(fmt::format(
        "note: {} is incomplete ({}); its {} {} {} used", folder.string(), why_incomplete(trace),
        trace.steps(), trace.steps() == 1 ? "step" : "steps", trace.steps() == 1 ? "is" : "are"));
  if (trace.metadata().value("values", kValuesGradients) == kValuesUpdates)
    tell_user(fmt::format("note: {} has updates of parameters, not gradients", folder.string()));
  return trace;
}

Trace open_trace_files(const std::filesystem::path& folder) {
  if (is_synthetic(folder.string()))
    throw InputError(folder.string() +
                     ": a synthetic trace has no files; expected a captured trace's folder");
  return open_trace(folder);
}

void require_memory(const Trace& trace, const std::string& what, double bytes) {
  if (trace.generated())
    require_memory(trace.folder().string(), what, bytes, "a smaller model or fewer ranks");
}

void require_memory(const std::string& subject, const std::string& what, double bytes,
                    const std::string& instead) {
  const auto available = static_cast<double>(read_machine(".").memory_available);
  if (bytes <= available) return;
  throw InputError(
      fmt::format("{}: needs at least {} of memory ({}), but {} are available; expected {}",
                  subject, format_bytes(bytes), what, format_bytes(available), instead));
}

std::span<const float> finite_values(std::span<const float> values, BadValues policy,
                                     const std::string& where, std::vector<float>& repaired) {
  const std::size_t bad = first_non_finite(values);
  if (bad == kAllFinite) return values;
  if (policy == BadValues::kRefuse)
    throw InputError(
        fmt::format("{}: element {} is {}; --non-finite zero replaces such values by 0", where, bad,
                    values[bad]));
  repaired.assign(values.begin(), values.end());
  for (float& value : repaired) {
    if (!std::isfinite(value)) value = 0;
  }
  return repaired;
}

}  // namespace thinpipe
