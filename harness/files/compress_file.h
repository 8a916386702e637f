// Compresses a file of tensors to a file of frames, and decompresses it.
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
  std::filesystem::path state;        ///< of all tensors, read if it exists; "" for none
  std::optional<std::uint64_t> seed;  ///< default: the state's seed, or 1 without a state
  std::optional<std::uint64_t> step;  ///< default: the step after the state's, or 0 without a state
  double epoch = 0;                   ///< for warm-up schedules
  int threads = 1;                    ///< of one encode
  BadValues bad_values = BadValues::kRefuse;
};

/// Result of one tensor's compressor.
struct CompressedTensor {
  TensorInfo info;
  EncodeReport report;  ///< zeros in a step that only accumulates
  Distortion distortion;
  double seconds = 0;  ///< of encode() or hold() alone
};

struct CompressOutcome {
  std::string compressor;  ///< spec with every parameter
  std::uint64_t seed = 1;
  std::uint64_t step = 0;
  bool resumed = false;  ///< a state was read
  bool held = false;     ///< a step that only accumulates, between two exchanges
  std::uint64_t file_bytes = 0;
  std::vector<CompressedTensor> tensors;
};

/// Encodes every tensor, writes `out` and then, if requested, `state`. Each file appears complete
/// or not at all. If a call fails after `out` and before `state`, the same call again gives the
/// same `out`.
/// @throws InputError naming file, tensor and field; RunError when a payload decodes to values that
/// are not finite; SystemError when a file cannot be written.
CompressOutcome compress_file(const CompressOptions& options);

struct DecompressOptions {
  std::filesystem::path in;   ///< frames
  std::filesystem::path out;  ///< safetensors, F32
  /// Maximum number of elements of all tensors together. A file with more elements is refused
  /// before memory is allocated, because a few bytes of a valid sparse payload can represent
  /// billions of zeros.
  std::uint64_t max_elements = 1'000'000'000;
  int threads = 1;  ///< of one decode
};

struct DecompressedTensor {
  TensorInfo info;
  std::string compressor;  ///< spec in the frame
  std::uint64_t step = 0;
  bool held = false;         ///< a step that only accumulated: zeros
  bool incremental = false;  ///< the change of an estimate (EF21)
  std::size_t encoded_bytes = 0;
  std::size_t nonzero = 0;
  double seconds = 0;  ///< of decode_add() alone
};

struct DecompressOutcome {
  std::uint64_t file_bytes = 0;  ///< of `in`
  std::vector<DecompressedTensor> tensors;
};

/// Decodes every frame and writes `out`, which appears complete or not at all.
/// @throws InputError naming file, frame and field; SystemError when the file cannot be written.
DecompressOutcome decompress_file(const DecompressOptions& options);

}  // namespace thinpipe
