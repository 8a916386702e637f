#include "harness/files/tensor_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "workloads/trace/json_fields.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/trace_format.h"

namespace thinpipe {

TensorFile::TensorFile(const std::filesystem::path& path) : file_(path) {
  const auto entries = parse_safetensors(file_.bytes(), path.string());
  std::vector<const std::pair<const std::string, SafetensorsEntry>*> order;
  for (const auto& entry : entries) {
    if (entry.second.dtype != "F32")
      throw InputError(
          fmt::format("{}: tensor '{}': dtype {}, expected F32, the only dtype of compressors",
                      path.string(), printable(entry.first), entry.second.dtype));
    order.push_back(&entry);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->second.bytes.data() < b->second.bytes.data();
  });
  const auto squares_of = [&](const std::string& name, const SafetensorsEntry& entry) {
    const auto found = entries.find(kSquaresPrefix + name);
    return found != entries.end() && found->second.shape == entry.shape ? &found->second : nullptr;
  };
  for (const auto* item : order) {
    const auto& [name, entry] = *item;
    if (name.starts_with(kSquaresPrefix)) {
      const auto owner = entries.find(name.substr(kSquaresPrefix.size()));
      if (owner != entries.end() && owner->second.shape == entry.shape) continue;
    }
    FileTensor tensor;
    tensor.info = {name, entry.shape, entry.bytes.size() / sizeof(float)};
    tensor.values = floats(entry.bytes);
    if (const auto* squares = squares_of(name, entry)) tensor.squares = floats(squares->bytes);
    tensors_.push_back(std::move(tensor));
  }
  if (tensors_.empty()) throw InputError(path.string() + ": holds no tensors");
}

std::span<const float> TensorFile::floats(std::span<const std::byte> bytes) {
  const std::size_t count = bytes.size() / sizeof(float);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0)
    return {reinterpret_cast<const float*>(bytes.data()), count};
  auto& copy = copies_.emplace_back(count);
  if (count > 0) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

TensorFileWriter::TensorFileWriter(const std::filesystem::path& path,
                                   std::span<const TensorInfo> tensors,
                                   const std::map<std::string, std::string>& metadata)
    : file_(path) {
  std::vector<SafetensorsTensor> entries;
  for (const TensorInfo& tensor : tensors) entries.push_back({tensor.name, tensor.shape});
  file_.write(safetensors_prologue(entries, metadata));
}

void TensorFileWriter::add(std::span<const float> values) { file_.write(std::as_bytes(values)); }

}  // namespace thinpipe
