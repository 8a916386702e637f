// A rank's device in the replay tests: that of gpu.cu, on the simulated CUDA runtime.
#include "compressors/cuda/gpu.h"
#include "tests/cuda/simulated/simulated_device.h"

namespace thinpipe::cuda {

RankDevice simulated_rank_device(std::uint64_t seed, int /*busy_polls*/) {
  return open_rank_gpu(static_cast<int>(seed));
}

}  // namespace thinpipe::cuda
