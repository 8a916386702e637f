// A file of frames into a file of tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "compressors/compressor.h"

namespace thinpipe {

struct DecompressOptions {
  std::filesystem::path in;   ///< frames
  std::filesystem::path out;  ///< safetensors, F32
  /// Elements in all; a file that claims more is refused before memory is taken for them. A few
  /// bytes of a sparse payload may rightly stand for billions of zeros.
  std::uint64_t max_elements = 1'000'000'000;
  int threads = 1;  ///< that one decode may use
};

struct DecompressedTensor {
  TensorInfo info;
  std::string compressor;  ///< as the frame says
  std::uint64_t step = 0;
  bool held = false;         ///< nothing was sent in that step: zeros
  bool incremental = false;  ///< a change of what was decoded before (EF21)
  std::size_t encoded_bytes = 0;
  std::size_t nonzero = 0;
  double seconds = 0;  ///< of decode_add() alone
};

struct DecompressOutcome {
  std::uint64_t file_bytes = 0;  ///< of `in`
  std::vector<DecompressedTensor> tensors;
};

/// `out` appears whole or not at all.
/// @throws InputError naming file, frame and field; SystemError when the disk refuses.
DecompressOutcome decompress_file(const DecompressOptions& options);

}  // namespace thinpipe
