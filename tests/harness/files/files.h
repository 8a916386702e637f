// Safetensors files of a few tensors for the tests of code that reads and writes them.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/files/tensor_file.h"
#include "tests/compressors/support/inputs.h"

namespace thinpipe::testing {

using Tensors = std::vector<std::pair<std::string, std::vector<float>>>;

inline void write_tensors(const std::filesystem::path& path, const Tensors& tensors) {
  std::vector<TensorInfo> infos;
  for (const auto& [name, values] : tensors)
    infos.push_back({name, {static_cast<std::int64_t>(values.size())}, values.size()});
  TensorFileWriter writer(path, infos, {});
  for (const auto& [name, values] : tensors) writer.add(values);
  writer.commit();
}

inline Tensors read_tensors(const std::filesystem::path& path) {
  const TensorFile file(path);
  Tensors tensors;
  for (const FileTensor& tensor : file.tensors())
    tensors.push_back({tensor.info.name, {tensor.values.begin(), tensor.values.end()}});
  return tensors;
}

/// Four tensors of a step, one of them empty, not in the order of their names.
inline Tensors step_tensors(std::uint64_t step) {
  return {{"w2", heavy(3000, 10 + step)},
          {"w1", bell(70, 20 + step)},
          {"empty", {}},
          {"b", heavy(1, 30 + step)}};
}

}  // namespace thinpipe::testing
