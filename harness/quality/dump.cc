#include "harness/quality/dump.h"

#include <fmt/format.h>

#include "base/error.h"
#include "harness/files/tensor_file.h"

namespace thinpipe {

namespace fs = std::filesystem;

void make_dump_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError(folder.string() + ": cannot be created: " + error.message());
  if (!fs::is_empty(folder, error)) {
    throw InputError(folder.string() +
                     ": the folder is not empty (expected a new one; a dump overwrites nothing)");
  }
}

void dump_step(const fs::path& folder, const std::string& compressor, std::size_t rank,
               std::uint64_t step, const std::vector<DumpedTensor>& tensors) {
  const fs::path rank_folder = folder / fmt::format("rank-{:03d}", rank);
  std::error_code error;
  fs::create_directory(rank_folder, error);
  if (error) throw SystemError("create " + rank_folder.string(), error.value());
  std::vector<TensorInfo> entries;
  std::vector<std::span<const float>> values;
  const auto add = [&](const char* prefix, const TensorInfo& info, std::span<const float> array) {
    entries.push_back({prefix + info.name, info.shape, info.elements});
    values.push_back(array);
  };
  for (const DumpedTensor& tensor : tensors) add("decoded/", tensor.info, tensor.decoded);
  for (const DumpedTensor& tensor : tensors) {
    if (!tensor.residual.empty()) add("residual/", tensor.info, tensor.residual);
  }
  TensorFileWriter file(rank_folder / fmt::format("step-{:08d}.safetensors", step), entries,
                        {{"format", "thinpipe-dump"},
                         {"compressor", compressor},
                         {"rank", std::to_string(rank)},
                         {"step", std::to_string(step)}});
  for (const auto& array : values) file.add(array);
  file.commit();
}

}  // namespace thinpipe
