// A rank's device of the replays' tests: the library's own, on the played runtime.
#include "compressors/cuda/gpu.h"
#include "tests/cuda/played/played_device.h"

namespace thinpipe::cuda {

RankDevice play_rank_device(std::uint64_t seed, int /*patience*/) {
  return open_rank_gpu(static_cast<int>(seed));
}

}  // namespace thinpipe::cuda
