// The GPUs of this machine, for code that knows nothing of CUDA.
#pragma once

#include <cstddef>
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
  std::string detail;  ///< name and memory of the GPU, or why there is none
};

/// Whether compressors can run on a GPU here. Never throws.
GpuStatus probe_gpu();

/// A stream of work on the first GPU. @throws RunError where there is none.
std::shared_ptr<DeviceMemory> open_gpu();

/// The compressors of some tensors on a GPU that open_gpu() has opened.
/// @throws InputError for an unknown spec or one that has no twin on GPUs yet; RunError when the
/// GPU's memory does not suffice.
std::unique_ptr<DeviceCompressor> make_gpu_compressor(const std::shared_ptr<DeviceMemory>& gpu,
                                                      const Spec& spec,
                                                      std::span<const TensorInfo> tensors,
                                                      const CompressorSettings& settings);

/// The same with all that timing takes. @throws RunError where there is no GPU.
TimedDevice open_timed_gpu();

/// The same with copies that go on beside, for a rank that exchanges: the local_rank-th GPU of this
/// machine, counted round. From then on it is this thread's. @throws RunError where there is none
RankDevice open_rank_gpu(int local_rank);

/// Whether the spec has a twin on GPUs, be there one here or not, built with CUDA or without.
/// @throws InputError as make_gpu_compressor()
void check_on_gpus(const Spec& spec);

}  // namespace thinpipe
