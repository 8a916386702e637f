// What receivers decode and what stays behind, as files: one a rank and step.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"

namespace thinpipe {

/// One tensor of one rank's step.
struct DumpedTensor {
  TensorInfo info;
  std::span<const float> decoded;   ///< d elements
  std::span<const float> residual;  ///< d elements, or empty without memory
};

/// Makes the folder. @throws InputError when it exists and holds anything.
void make_dump_folder(const std::filesystem::path& folder);

/// FOLDER/rank-000/step-00000000.safetensors, named as in a trace, with `decoded/NAME` of every
/// tensor and `residual/NAME` of those that have one; compressor, rank and step as metadata.
void dump_step(const std::filesystem::path& folder, const std::string& compressor, std::size_t rank,
               std::uint64_t step, const std::vector<DumpedTensor>& tensors);

}  // namespace thinpipe
