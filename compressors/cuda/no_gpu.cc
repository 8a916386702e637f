// The functions of gpu.h in builds without CUDA.
#include "base/error.h"
#include "compressors/cuda/gpu.h"

namespace thinpipe {
namespace {

constexpr const char* kWithout = "thinpipe was built without the CUDA Toolkit";

}  // namespace

GpuStatus probe_gpu() { return {.available = false, .detail = kWithout}; }
std::shared_ptr<DeviceMemory> open_gpu() { throw RunError(kWithout); }
std::unique_ptr<DeviceCompressor> make_gpu_compressor(const std::shared_ptr<DeviceMemory>&,
                                                      const Spec&, std::span<const TensorInfo>,
                                                      const CompressorSettings&) {
  throw RunError(kWithout);
}
TimedDevice open_timed_gpu() { throw RunError(kWithout); }
RankDevice open_rank_gpu(int) { throw RunError(kWithout); }

}  // namespace thinpipe
