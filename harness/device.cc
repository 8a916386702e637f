#include "harness/device.h"

#include "base/error.h"
#include "base/text.h"
#include "compressors/cuda/gpu.h"

namespace thinpipe {

void check_device(const std::string& name) {
  if (name != kDeviceCpu && name != kDeviceCuda)
    throw InputError("--device: found " + in_quotes(name) + ", expected cpu or cuda");
}

void require_gpu() {
  const GpuStatus status = probe_gpu();
  if (status.available) return;
  throw RunError("--device cuda: " + status.detail +
                 (THINPIPE_HAS_CUDA
                      ? "; it takes an NVIDIA GPU of compute capability 8.0 or higher and its "
                        "driver (nvidia-smi shows both)"
                      : "; build it where CUDA's nvcc is (docs/gpu.md)") +
                 ". --device cpu measures on this machine");
}

}  // namespace thinpipe
