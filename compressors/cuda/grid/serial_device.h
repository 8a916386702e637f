// A processor that plays a GPU, one thread after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "compressors/cuda/grid/host_device.h"
#include "compressors/cuda/grid/serial_block.h"

namespace thinpipe::cuda {

class SerialPlayer {
 public:
  explicit SerialPlayer(std::uint64_t seed) : random_(seed) {}

  template <class Kernel>
  void play(const Kernel& kernel, std::size_t blocks) {
    const auto shared = std::make_unique<typename Kernel::Shared>();
    for (std::size_t i = 0; i < blocks; ++i) {
      // A GPU's blocks find values of other blocks in shared memory.
      std::memset(static_cast<void*>(shared.get()), kGarbage, sizeof *shared);
      SerialBlock<Kernel::kThreads> block(static_cast<unsigned>(i), random_.next());
      kernel(block, *shared);
    }
  }

 private:
  SplitMix64 random_;
};

using SerialDevice = HostDevice<SerialPlayer>;

}  // namespace thinpipe::cuda
