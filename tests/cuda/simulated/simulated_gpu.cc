// This library is preloaded into thinpipe and its ranks and simulates two GPUs. It replaces the
// functions of the same names in libthinpipe_cuda.so.
#include <cstdlib>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "compressors/cuda/gpu.h"
#include "tests/cuda/simulated/simulated_device.h"
#include "workloads/collectives/mpi_device.h"

namespace thinpipe {
namespace {

constexpr int kSimulated = 2;  ///< GPUs

}  // namespace

GpuStatus probe_gpu() { return {.available = true, .detail = "simulated GPU"}; }

std::shared_ptr<DeviceMemory> open_gpu() { return cuda::simulated_timed_device(1).memory; }

std::unique_ptr<DeviceCompressor> make_gpu_compressor(const std::shared_ptr<DeviceMemory>& gpu,
                                                      const Spec& spec,
                                                      std::span<const TensorInfo> tensors,
                                                      const CompressorSettings& settings) {
  return cuda::make_simulated_compressor(gpu, spec, tensors, settings);
}

RankDevice open_rank_gpu(int local_rank) {
  const int number = local_rank % kSimulated;
  RankDevice device = cuda::simulated_rank_device(static_cast<std::uint64_t>(local_rank) + 1);
  device.description.bus = "simulated:" + std::to_string(number);
  return device;
}

TimedDevice open_timed_gpu() { return cuda::simulated_timed_device(1); }

/// Simulated device memory is host memory, which any MPI accepts.
bool mpi_takes_device_addresses() { return std::getenv("SIMULATED_CUDA_MPI") != nullptr; }

}  // namespace thinpipe
