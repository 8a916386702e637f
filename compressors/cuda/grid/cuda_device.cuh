// A GPU: memory and kernels on one stream.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "compressors/cuda/device_memory.h"
#include "compressors/cuda/grid/cuda_block.cuh"

namespace thinpipe::cuda {

inline void check(cudaError_t error, const char* attempt) {
  if (error == cudaSuccess) return;
  throw RunError(std::string("CUDA: ") + attempt + ": " + cudaGetErrorString(error));
}

/// A kernel that is written for any block, on a GPU's.
template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads) run(const __grid_constant__ Kernel kernel) {
  using Block = CudaBlock<Kernel::kThreads>;
  // As bytes: what threads share has no constructor.
  __shared__ alignas(16) unsigned char shared[sizeof(typename Kernel::Shared)];
  __shared__ alignas(16) unsigned char own[sizeof(typename Block::Shared)];
  Block block(*reinterpret_cast<typename Block::Shared*>(own));
  kernel(block, *reinterpret_cast<typename Kernel::Shared*>(shared));
}

class CudaDevice : public DeviceMemory {
 public:
  /// The current device. @throws RunError without one.
  CudaDevice() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "make a stream");
  }
  ~CudaDevice() override {
    for (void* memory : memory_) cudaFree(memory);
    cudaStreamDestroy(stream_);
  }
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    const std::size_t some = bytes == 0 ? 1 : bytes;
    check(cudaMalloc(&memory, some), ("allocate " + std::to_string(some) + " bytes").c_str());
    memory_.push_back(memory);
    zero(memory, some);
    return memory;
  }
  void upload(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copy to the device");
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_),
          "copy from the device");
  }
  void zero(void* at, std::size_t bytes) override {
    check(cudaMemsetAsync(at, 0, bytes, stream_), "clear memory");
  }
  void wait() override { check(cudaStreamSynchronize(stream_), "wait for the device"); }

  /// Runs a kernel on so many blocks, after what has been asked for before.
  template <class Kernel>
  void launch(const Kernel& kernel, std::size_t blocks) {
    if (blocks == 0) return;
    run<Kernel><<<static_cast<unsigned>(blocks), Kernel::kThreads, 0, stream_>>>(kernel);
    check(cudaGetLastError(), "start a kernel");
  }

  cudaStream_t stream() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
  std::vector<void*> memory_;
};

}  // namespace thinpipe::cuda
