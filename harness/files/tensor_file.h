// Reads the tensors of a safetensors file for compressors, and writes such a file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/output_file.h"
#include "compressors/compressor.h"
#include "workloads/trace/mapped_file.h"

namespace thinpipe {

/// One tensor of a file. The spans live as long as its TensorFile.
struct FileTensor {
  TensorInfo info;
  std::span<const float> values;
  std::span<const float> squares;  ///< of the entry "q:NAME", if any
};

/// A safetensors file whose tensors are all F32. An entry "q:NAME" has the second moments of an
/// entry NAME of the same shape, as in the step files of a trace (docs/trace-format.md).
class TensorFile {
 public:
  /// @throws InputError naming file and tensor for another dtype and for violations of the format.
  explicit TensorFile(const std::filesystem::path& path);

  /// Returns the tensors in the order of the file.
  const std::vector<FileTensor>& tensors() const { return tensors_; }

 private:
  std::span<const float> floats(std::span<const std::byte> bytes);

  MappedFile file_;
  std::list<std::vector<float>> copies_;  ///< of tensors whose address is no multiple of 4
  std::vector<FileTensor> tensors_;
};

/// Writes F32 tensors one after the other; the file appears with commit().
class TensorFileWriter {
 public:
  /// @param tensors  to be added, in this order @throws InputError for repeated names.
  TensorFileWriter(const std::filesystem::path& path, std::span<const TensorInfo> tensors,
                   const std::map<std::string, std::string>& metadata);
  void add(std::span<const float> values);  ///< writes the next tensor
  void commit() { file_.commit(); }

 private:
  OutputFile file_;
};

}  // namespace thinpipe
