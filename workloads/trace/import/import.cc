#include "workloads/trace/import/import.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "workloads/trace/import/arrays.h"
#include "workloads/trace/import/chakra.h"
#include "workloads/trace/import/input_files.h"
#include "workloads/trace/import/names.h"
#include "workloads/trace/json_fields.h"
#include "workloads/trace/mapped_file.h"
#include "workloads/trace/trace.h"
#include "workloads/trace/trace_format.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

/// One rank's arrays of one step: gradients, and second moments if there are any.
struct StepArrays {
  std::vector<NamedArray> gradients;
  std::vector<NamedArray> squares;
};

StepArrays read_step(const std::vector<PlacedFile>& files, ImportFormat format,
                     const Renames& renames, const std::vector<std::string>& globs) {
  StepArrays step;
  for (const PlacedFile& placed : files) {
    const MappedFile file(placed.file.place);
    const std::string shown = placed.file.place.string();
    std::vector<NamedArray> arrays;
    if (format == ImportFormat::kNpy) {
      arrays.push_back(read_npy_array(file.bytes(), shown, placed.tensor));
    } else if (format == ImportFormat::kNpz) {
      arrays = read_npz_arrays(file.bytes(), shown);
    } else {
      arrays = read_safetensors_arrays(file.bytes(), shown);
    }
    for (NamedArray& array : arrays) {
      const bool square = array.name.starts_with(kSquaresPrefix);
      if (square) array.name.erase(0, kSquaresPrefix.size());
      array.name = renamed(array.name, renames);
      if (!is_wanted(array.name, globs)) continue;
      const bool empty = std::any_of(array.shape.begin(), array.shape.end(),
                                     [](std::int64_t dimension) { return dimension < 1; });
      if (empty) {
        throw InputError(fmt::format("{}: tensor '{}': shape: [{}] has no elements", shown,
                                     printable(array.name), fmt::join(array.shape, ", ")));
      }
      (square ? step.squares : step.gradients).push_back(std::move(array));
    }
  }
  return step;
}

/// Checks `arrays` against the description's tensors and returns their values in its order.
std::vector<std::span<const float>> in_order(const std::vector<NamedArray>& arrays,
                                             const std::vector<TraceTensor>& tensors,
                                             const std::string& where) {
  std::map<std::string, const NamedArray*> by_name;
  for (const NamedArray& array : arrays) {
    if (!by_name.emplace(array.name, &array).second) {
      throw InputError(fmt::format("{}: tensor '{}' appears twice", where, printable(array.name)));
    }
  }
  std::vector<std::span<const float>> spans;
  for (const TraceTensor& tensor : tensors) {
    const auto found = by_name.find(tensor.name);
    if (found == by_name.end()) {
      throw InputError(fmt::format("{}: tensor '{}' of the first step is missing", where,
                                   printable(tensor.name)));
    }
    if (found->second->shape != tensor.shape) {
      throw InputError(
          fmt::format("{}: tensor '{}': shape: found [{}], expected [{}] as in the first step",
                      where, printable(tensor.name), fmt::join(found->second->shape, ", "),
                      fmt::join(tensor.shape, ", ")));
    }
    spans.emplace_back(found->second->values);
  }
  if (arrays.size() != tensors.size()) {
    const auto unknown = std::find_if(arrays.begin(), arrays.end(), [&](const NamedArray& array) {
      return std::none_of(tensors.begin(), tensors.end(),
                          [&](const TraceTensor& tensor) { return tensor.name == array.name; });
    });
    throw InputError(
        fmt::format("{}: tensor '{}' is not in the first step", where, printable(unknown->name)));
  }
  return spans;
}

/// Imports .npy, .npz or safetensors files.
ImportSummary import_arrays(const std::vector<ImportFile>& files, ImportFormat format,
                            const fs::path& input, const fs::path& out,
                            const ImportOptions& options) {
  const std::string shown = input.string();
  const Renames renames = parse_renames(options.renames);
  std::string pattern;
  const PlacedFiles places = place_input_files(files, format, options.pattern, shown, pattern);
  const std::vector<std::uint64_t> ranks = ranks_of_all_steps(places, shown);

  TraceDescription description;
  description.model = imported_model(options, input);
  description.origin = kOriginImported;
  description.ranks = ranks.size();
  const StepArrays first = read_step(places.begin()->second, format, renames, options.tensors);
  if (first.gradients.empty()) {
    throw InputError(places.begin()->second.front().file.place.string() +
                     ": no gradient is left to import (expected floating-point tensors whose "
                     "names match --tensors)");
  }
  std::set<std::string> narrowed;
  for (const NamedArray& array : first.gradients) {
    const std::size_t i = description.tensors.size();
    description.tensors.push_back({array.name, array.shape, 0,
                                   options.first_ready_first ? i : first.gradients.size() - 1 - i});
    if (array.dtype != "F32") narrowed.insert(array.dtype);
  }
  description.squares = !first.squares.empty();
  description.provenance = {{"program", "thinpipe trace import"},
                            {"format", import_format_name(format)},
                            {"pattern", pattern},
                            {"ranks", ranks},
                            {"assumed", {"forward", "backward", "ready", "ready_order"}}};
  if (!narrowed.empty()) description.provenance["dtypes_of_input"] = narrowed;

  ImportSummary summary;
  summary.format = format;
  summary.ranks = ranks.size();
  TraceWriter writer(out, description);
  const TraceStepTimes times = assumed_times(options, description.tensors);
  std::optional<std::uint64_t> last;
  for (const auto& [key, step_files] : places) {
    const StepArrays step = read_step(step_files, format, renames, options.tensors);
    const std::string where =
        step_files.size() == 1 ? step_files.front().file.place.string()
                               : fmt::format("{}: step {}, rank {}", shown, key.first, key.second);
    const auto gradients = in_order(step.gradients, description.tensors, where);
    std::vector<std::span<const float>> squares;
    if (description.squares || !step.squares.empty()) {
      squares = in_order(step.squares, description.tensors, where + ": second moments");
    }
    const auto rank = std::lower_bound(ranks.begin(), ranks.end(), key.second) - ranks.begin();
    writer.add(key.first, static_cast<std::size_t>(rank), times, gradients, squares);
    summary.files += step_files.size();
    summary.steps += std::exchange(last, key.first) != key.first ? 1 : 0;
  }
  writer.finish();
  summary.tensors = description.tensors.size();
  for (const NamedArray& array : first.gradients) summary.elements += array.values.size();
  return summary;
}

}  // namespace

ImportSummary import_trace(const std::vector<fs::path>& inputs, const fs::path& out,
                           const ImportOptions& options) {
  if (inputs.empty()) throw InputError("import: expected a file or folder");
  std::vector<ImportFile> files = find_input_files(inputs);
  const std::string shown = inputs.front().string();
  const ImportFormat format =
      options.format == ImportFormat::kAuto ? guess_import_format(files, shown) : options.format;
  std::erase_if(files,
                [&](const ImportFile& file) { return !has_import_extension(file.place, format); });
  if (files.empty()) {
    throw InputError(
        fmt::format("{}: no {} file", shown, fmt::join(import_extensions(format), " or ")));
  }
  if (format == ImportFormat::kChakra) return import_chakra(files, inputs.front(), out, options);
  if (inputs.size() > 1) {
    throw InputError(fmt::format(
        "{}: expected one file or folder ({} given); only Chakra takes several, one a rank", shown,
        inputs.size()));
  }
  return import_arrays(files, format, inputs.front(), out, options);
}

}  // namespace thinpipe
