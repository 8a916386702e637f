// Parts of one trace.
#include <fnmatch.h>

#include <algorithm>

#include <fmt/format.h>

#include "workloads/trace/edit/assembly.h"
#include "workloads/trace/edit/edit.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

namespace {

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

bool is_in(std::uint64_t value, const Ranges& ranges) {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
           return range.first <= value && value <= range.second;
         });
}

}  // namespace

SliceParts slice_parts(const Trace& trace, const SliceOptions& options) {
  SliceParts parts;
  const std::string folder = trace.folder().string();
  for (std::size_t step = 0; step < trace.steps(); ++step) {
    if (is_in(trace.training_step(step), options.steps)) parts.steps.push_back(step);
  }
  if (parts.steps.empty()) {
    throw InputError(fmt::format("{}: no such step (expected some of {} steps from {} to {})",
                                 folder, trace.steps(), trace.training_step(0),
                                 trace.training_step(trace.steps() - 1)));
  }
  for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
    if (is_in(rank, options.ranks)) parts.ranks.push_back(rank);
  }
  if (parts.ranks.empty()) {
    throw InputError(
        fmt::format("{}: no such rank (expected some of 0 to {})", folder, trace.ranks() - 1));
  }
  for (const std::string& glob : options.tensors) {
    const bool any =
        std::any_of(trace.tensors().begin(), trace.tensors().end(), [&](const TraceTensor& tensor) {
          return fnmatch(glob.c_str(), tensor.name.c_str(), 0) == 0;
        });
    if (any) continue;
    throw InputError(fmt::format("{}: no tensor is named '{}' (the first of {} is '{}')", folder,
                                 printable(glob), trace.tensors().size(),
                                 printable(trace.tensors().front().name)));
  }
  for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
    const bool wanted =
        options.tensors.empty() ||
        std::any_of(options.tensors.begin(), options.tensors.end(), [&](const std::string& glob) {
          return fnmatch(glob.c_str(), trace.tensors()[i].name.c_str(), 0) == 0;
        });
    if (wanted) parts.tensors.push_back(i);
  }
  return parts;
}

void slice_trace(const Trace& trace, const SliceParts& parts, const std::filesystem::path& out) {
  Assembly assembly;
  assembly.like = &trace;
  assembly.tensors = parts.tensors;
  assembly.complete = trace.complete();
  assembly.missing = trace.missing();
  for (const std::size_t step : parts.steps) {
    Assembly::Step& added = assembly.steps.emplace_back();
    added.training_step = trace.training_step(step);
    for (const std::size_t rank : parts.ranks) added.workers.push_back({&trace, step, rank});
  }
  assembly.provenance = {
      {"program", "thinpipe trace slice"},
      {"of", trace.identity()},
      {"ranks", parts.ranks},
      {"source", trace.metadata().value("provenance", nlohmann::json::object())}};
  write_assembly(assembly, out);
}

}  // namespace thinpipe
