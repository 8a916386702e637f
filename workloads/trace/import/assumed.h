// What both kinds of import have in common, and the two.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workloads/trace/import/import.h"
#include "workloads/trace/import/input_files.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// The options' times; gradients become ready at even distances over the backward pass, in the
/// tensors' ready order. No loss.
TraceStepTimes assumed_times(const ImportOptions& options, const std::vector<TraceTensor>& tensors);

/// The options' model, or the name of the file or folder.
std::string imported_model(const ImportOptions& options, const std::filesystem::path& input);

/// From .npy, .npz or safetensors files (import_arrays.cc).
ImportSummary import_arrays(const std::vector<ImportFile>& files, ImportFormat format,
                            const std::filesystem::path& input, const std::filesystem::path& out,
                            const ImportOptions& options);

/// From Chakra traces, one a rank (import_chakra.cc).
ImportSummary import_chakra(const std::vector<ImportFile>& files,
                            const std::filesystem::path& input,
                            const std::filesystem::path& out, const ImportOptions& options);

}  // namespace thinpipe
