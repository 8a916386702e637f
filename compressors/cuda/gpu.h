// The GPUs of this machine, behind an interface without CUDA.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "compressors/compressor.h"
#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/device/device_memory.h"
#include "compressors/cuda/rank_device.h"
#include "compressors/cuda/timed_device.h"
#include "compressors/spec.h"

namespace thinpipe {

struct GpuStatus {
  bool available = false;
  std::string detail;  ///< name and memory of the GPU, or why none is available
};

/// Returns whether compressors can run on a GPU of this machine. Never throws.
GpuStatus probe_gpu();

/// Opens a stream on the first GPU. @throws RunError without a GPU
std::shared_ptr<DeviceMemory> open_gpu();

/// Makes the compressors of some tensors on a GPU opened by open_gpu().
/// @throws InputError for an unknown spec or one without a GPU implementation; RunError if the
/// GPU's memory does not suffice
std::unique_ptr<DeviceCompressor> make_gpu_compressor(const std::shared_ptr<DeviceMemory>& gpu,
                                                      const Spec& spec,
                                                      std::span<const TensorInfo> tensors,
                                                      const CompressorSettings& settings);

/// Opens the first GPU for timing. @throws RunError without a GPU
TimedDevice open_timed_gpu();

/// Opens a rank's GPU, with streams for asynchronous copies: GPU `local_rank` modulo the number of
/// GPUs of this machine. Makes it the calling thread's current device.
/// @throws RunError without a GPU
RankDevice open_rank_gpu(int local_rank);

/// Checks that the spec has a GPU implementation. Needs neither a GPU nor a build with CUDA.
/// @throws InputError as make_gpu_compressor()
void check_on_gpus(const Spec& spec);

}  // namespace thinpipe
