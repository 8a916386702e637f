// A simulated GPU that runs one thread after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "compressors/cuda/grid/host_device.h"
#include "compressors/cuda/grid/serial_block.h"

namespace thinpipe::cuda {

/// Runs kernels on SerialBlock, one block after the other.
class SerialSimulator {
 public:
  explicit SerialSimulator(std::uint64_t seed) : random_(seed) {}

  template <class Kernel>
  void run(const Kernel& kernel, std::size_t blocks) {
    const auto shared = std::make_unique<typename Kernel::Shared>();
    for (std::size_t i = 0; i < blocks; ++i) {
      // On a GPU, shared memory starts with values of other blocks.
      std::memset(static_cast<void*>(shared.get()), kGarbage, sizeof *shared);
      SerialBlock<Kernel::kThreads> block(static_cast<unsigned>(i), random_.next());
      kernel(block, *shared);
    }
  }

 private:
  SplitMix64 random_;
};

using SerialDevice = HostDevice<SerialSimulator>;

}  // namespace thinpipe::cuda
