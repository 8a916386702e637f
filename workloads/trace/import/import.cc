#include "workloads/trace/import/import.h"

#include <limits>

#include <fmt/format.h>

#include "base/error.h"
#include "workloads/trace/import/assumed.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

namespace fs = std::filesystem;

TraceStepTimes assumed_times(const ImportOptions& options,
                             const std::vector<TraceTensor>& tensors) {
  TraceStepTimes times;
  times.forward = options.forward;
  times.backward = options.backward;
  times.loss = std::numeric_limits<double>::quiet_NaN();
  for (const TraceTensor& tensor : tensors) {
    times.ready.push_back(options.backward * static_cast<double>(tensor.ready_order + 1) /
                          static_cast<double>(tensors.size()));
  }
  return times;
}

std::string imported_model(const ImportOptions& options, const fs::path& input) {
  if (!options.model.empty()) return options.model;
  fs::path path = input.lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const std::string name = printable(path.stem().string());
  return name.empty() || name == "." || name == ".." ? "imported" : name;
}

const char* import_format_name(ImportFormat format) {
  switch (format) {
    case ImportFormat::kNpy:
      return "npy";
    case ImportFormat::kNpz:
      return "npz";
    case ImportFormat::kSafetensors:
      return "safetensors";
    case ImportFormat::kChakra:
      return "chakra";
    default:
      return "auto";
  }
}

const std::vector<std::string>& default_patterns(ImportFormat format) {
  // The first is SIDCo's: grads/cifar10_resnet20_r0_gradients_iter_100.npy, a vector for the whole
  // model.
  static const std::vector<std::string> kNpy = {
      "*r{rank}_gradients_iter_{step}.npy", "rank-{rank}/step-{step}/{tensor}.npy",
      "{step}/{rank}/{tensor}.npy", "{step}/{tensor}.npy", "{tensor}.npy"};
  static const std::vector<std::string> kNpz = {"rank-{rank}/step-{step}.npz",
                                                "{step}/{rank}.npz",
                                                "*rank{rank}*step{step}.npz",
                                                "*step{step}.npz",
                                                "{step}.npz",
                                                "*.npz"};
  static const std::vector<std::string> kSafetensors = {"rank-{rank}/step-{step}.safetensors",
                                                        "{step}/{rank}.safetensors",
                                                        "*rank{rank}*step{step}.safetensors",
                                                        "*step{step}.safetensors",
                                                        "{step}.safetensors",
                                                        "*.safetensors"};
  static const std::vector<std::string> kNone;
  return format == ImportFormat::kNpy           ? kNpy
         : format == ImportFormat::kNpz         ? kNpz
         : format == ImportFormat::kSafetensors ? kSafetensors
                                                : kNone;
}

ImportSummary import_trace(const std::vector<fs::path>& inputs, const fs::path& out,
                           const ImportOptions& options) {
  if (inputs.empty()) throw InputError("import: expected a file or folder");
  std::vector<ImportFile> files = find_input_files(inputs);
  const std::string shown = inputs.front().string();
  const ImportFormat format =
      options.format == ImportFormat::kAuto ? guess_import_format(files, shown) : options.format;
  std::erase_if(files, [&](const ImportFile& file) {
    return file.place.extension() != import_extension(format);
  });
  if (files.empty()) {
    throw InputError(fmt::format("{}: no {} file", shown, import_extension(format)));
  }
  if (format == ImportFormat::kChakra) return import_chakra(files, inputs.front(), out, options);
  if (inputs.size() > 1) {
    throw InputError(fmt::format(
        "{}: expected one file or folder ({} given); several are for the ranks of a Chakra trace",
        shown, inputs.size()));
  }
  return import_arrays(files, format, inputs.front(), out, options);
}

}  // namespace thinpipe
