// A processor that plays a GPU: its memory, and kernels that run when they are launched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "compressors/cuda/device_memory.h"
#include "compressors/cuda/grid/serial_block.h"

namespace thinpipe::cuda {

/// Tests run compressors on it and on CudaDevice, which has the same functions.
class SerialDevice : public DeviceMemory {
 public:
  /// @param seed  of the order in which a block's threads take turns
  explicit SerialDevice(std::uint64_t seed = 1) : random_(seed) {}

  void* allocate(std::size_t bytes) override {
    memory_.emplace_back(bytes + 1);
    return memory_.back().data();
  }
  void upload(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void zero(void* at, std::size_t bytes) override {
    if (bytes > 0) std::memset(at, 0, bytes);
  }
  /// Runs a kernel on so many blocks.
  template <class Kernel>
  void launch(const Kernel& kernel, std::size_t blocks) {
    const auto shared = std::make_unique<typename Kernel::Shared>();
    for (std::size_t i = 0; i < blocks; ++i) {
      // What a GPU's blocks find in shared memory is what others have left there.
      std::memset(static_cast<void*>(shared.get()), 0xa5, sizeof *shared);
      SerialBlock<Kernel::kThreads> block(static_cast<unsigned>(i), random_.next());
      kernel(block, *shared);
    }
  }
  void wait() override {}

 private:
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  SplitMix64 random_;
  std::vector<std::vector<std::byte>> memory_;
};

}  // namespace thinpipe::cuda
