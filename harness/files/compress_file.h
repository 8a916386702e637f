// A file of tensors into a file of frames.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/spec.h"
#include "harness/files/finite.h"

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

/// What one tensor's compressor did.
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

}  // namespace thinpipe
