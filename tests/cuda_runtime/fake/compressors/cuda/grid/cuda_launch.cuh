// In place of the one of the same name: a kernel on a played stream, its threads one after the
// other.
#pragma once

#include "compressors/cuda/grid/serial_device.h"
#include "tests/cuda_runtime/played.h"

namespace thinpipe::cuda {

template <class Kernel>
cudaError_t launch_kernel(const Kernel& kernel, unsigned blocks, cudaStream_t stream) {
  return played::launch(stream, [kernel, blocks] {
    static SerialPlayer player(1);
    player.play(kernel, blocks);
  });
}

}  // namespace thinpipe::cuda
