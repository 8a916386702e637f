// A file of tensors into a file of frames, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"
#include "harness/files/open_trace.h"

namespace thinpipe {

struct CompressOptions {
  Spec compressor;
  std::filesystem::path in;           ///< safetensors, F32
  std::filesystem::path out;          ///< frames
  std::filesystem::path state;        ///< of all tensors, read where it exists; "" for none
  std::optional<std::uint64_t> seed;  ///< else the state's, else 1
  std::optional<std::uint64_t> step;  ///< else the one after the state's last, else 0
  double epoch = 0;                   ///< for warm-up schedules
  int threads = 1;                    ///< that one encode may use
  BadValues bad_values = BadValues::kRefuse;
};

/// Result of one tensor's compressor.
struct CompressedTensor {
  TensorInfo info;
  EncodeReport report;  ///< zeros in a held step
  Distortion distortion;
  double seconds = 0;  ///< of encode() or hold() alone
};

struct CompressOutcome {
  std::string compressor;  ///< spec with every parameter
  std::uint64_t seed = 1;
  std::uint64_t step = 0;
  bool resumed = false;  ///< a state was read
  bool held = false;     ///< a step between two exchanges of a longer period: nothing is sent
  std::uint64_t file_bytes = 0;
  std::vector<CompressedTensor> tensors;
};

/// Encodes every tensor, writes `out` and then, where asked for, `state`; both appear whole or not
/// at all. The same call again after a failure between the two gives the same `out`.
/// @throws InputError naming file, tensor and field; SystemError when the disk refuses.
CompressOutcome compress_file(const CompressOptions& options);

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
