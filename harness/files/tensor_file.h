// The tensors of one safetensors file as compressors take them, and such a file written anew.
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
  std::span<const float> squares;  ///< of the entry "q:NAME", where there is one
};

/// A safetensors file whose tensors are all F32. An entry "q:NAME" beside an entry NAME of the same
/// shape holds its second moments, as in the step files of a trace (docs/trace-format.md).
class TensorFile {
 public:
  /// @throws InputError naming file and tensor for another dtype and whatever the format forbids.
  explicit TensorFile(const std::filesystem::path& path);

  /// In the order in which they lie in the file.
  const std::vector<FileTensor>& tensors() const { return tensors_; }

 private:
  std::span<const float> floats(std::span<const std::byte> bytes);

  MappedFile file_;
  std::list<std::vector<float>> copies_;  ///< of tensors that do not lie at a multiple of 4
  std::vector<FileTensor> tensors_;
};

/// Writes F32 tensors one after the other; the file appears with commit().
class TensorFileWriter {
 public:
  /// All tensors that will come, in this order. @throws InputError for names that repeat.
  TensorFileWriter(const std::filesystem::path& path, std::span<const TensorInfo> tensors,
                   const std::map<std::string, std::string>& metadata);
  void add(std::span<const float> values);  ///< the next tensor's
  void commit() { file_.commit(); }

 private:
  OutputFile file_;
};

}  // namespace thinpipe
