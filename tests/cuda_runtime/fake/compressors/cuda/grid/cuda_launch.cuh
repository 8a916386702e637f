// Replaces the header of the same name: runs a kernel on a simulated stream, one thread after the
// other.
#pragma once

#include "compressors/cuda/grid/serial_device.h"
#include "tests/cuda_runtime/simulated.h"

namespace thinpipe::cuda {

cudaError_t launch_kernel(const auto& kernel, unsigned blocks, cudaStream_t stream) {
  return simulated::launch(stream, [kernel, blocks] {
    static SerialSimulator simulator(1);
    simulator.run(kernel, blocks);
  });
}

}  // namespace thinpipe::cuda
