// Export of a trace's gradients to NumPy and safetensors files.
#pragma once

#include <cstddef>
#include <filesystem>

#include "workloads/trace/edit/edit.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

enum class ExportFormat { kNpy, kNpz, kSafetensors };

/// Writes rank-RRR/step-SSSSSSSS.npz or .safetensors for each selected rank and step, or one .npy a
/// tensor in the folder rank-RRR/step-SSSSSSSS. Ranks keep their numbers. Values are FP32 in
/// row-major order; second moments are named "q:NAME". In the names of .npy files every byte except
/// letters, digits, '.', '_' and '-' is written as %XX.
/// @return the number of files written.
/// @throws InputError if the folder is not empty; RunError if writing fails. After an error nothing
/// new is left in `out`.
std::size_t export_trace(const Trace& trace, const SliceParts& parts, ExportFormat format,
                         const std::filesystem::path& out);

}  // namespace thinpipe
