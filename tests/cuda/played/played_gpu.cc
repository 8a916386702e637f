// Preloaded into thinpipe and its ranks: a machine with two GPUs, which its processor plays. The
// functions of the same names in libthinpipe_cuda.so are not used then.
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "compressors/cuda/gpu.h"
#include "tests/cuda/played/played_device.h"
#include "workloads/exchange/mpi_device.h"

namespace thinpipe {
namespace {

constexpr int kPlayed = 2;

}  // namespace

GpuStatus probe_gpu() { return {.available = true, .detail = "a processor that plays a GPU"}; }

std::shared_ptr<DeviceMemory> open_gpu() { return cuda::play_timed_device(1).memory; }

std::unique_ptr<DeviceCompressor> make_gpu_compressor(const std::shared_ptr<DeviceMemory>& gpu,
                                                      const Spec& spec,
                                                      std::span<const TensorInfo> tensors,
                                                      const CompressorSettings& settings) {
  return cuda::make_played_compressor(gpu, spec, tensors, settings);
}

RankDevice open_rank_gpu(int local_rank) {
  const int number = local_rank % kPlayed;
  RankDevice device = cuda::play_rank_device(static_cast<std::uint64_t>(local_rank) + 1);
  device.description.bus = "played:" + std::to_string(number);
  return device;
}

TimedDevice open_timed_gpu() { return cuda::play_timed_device(1); }

/// The simulated GPU's memory is the host's, which any MPI takes.
bool mpi_takes_device_addresses() { return std::getenv("PLAYED_CUDA_MPI") != nullptr; }

}  // namespace thinpipe
