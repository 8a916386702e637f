// Checks whether specs have a GPU implementation, also in builds without CUDA.
#include "compressors/cuda/gpu.h"
#include "compressors/cuda/grid/no_device.h"
#include "compressors/cuda/make.h"

namespace thinpipe {

void check_on_gpus(const Spec& spec) {
  const TensorInfo tensor{.name = "any", .shape = {1}, .elements = 1};
  cuda::make_device_compressor(std::make_shared<cuda::NoDevice>(), spec, {&tensor, 1}, {});
}

}  // namespace thinpipe
