// A trace's gradients as files that other programs read.
#pragma once

#include <cstddef>
#include <filesystem>

#include "workloads/trace/edit/edit.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

enum class ExportFormat { kNpy, kNpz, kSafetensors };

/// Writes, for each of the parts' ranks and steps, rank-RRR/step-SSSSSSSS.npz or .safetensors, or a
/// .npy a tensor in the folder rank-RRR/step-SSSSSSSS; ranks keep the numbers they have. All as
/// FP32 in row-major order; second moments as "q:NAME". In the names of .npy files other bytes than
/// letters, digits, '.', '_' and '-' are %XX.
/// @return files written.
/// @throws InputError when the folder is not empty; RunError when the disk refuses. Then nothing is
/// left.
std::size_t export_trace(const Trace& trace, const SliceParts& parts, ExportFormat format,
                         const std::filesystem::path& out);

}  // namespace thinpipe
