// A kernel on a GPU's blocks: all that takes CUDA's compiler.
#pragma once

#include <cuda_runtime.h>

#include "compressors/cuda/grid/cuda_block.cuh"

namespace thinpipe::cuda {

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

/// On so many blocks, after what the stream was asked for before.
template <class Kernel>
cudaError_t launch_kernel(const Kernel& kernel, unsigned blocks, cudaStream_t stream) {
  run<Kernel><<<blocks, Kernel::kThreads, 0, stream>>>(kernel);
  return cudaGetLastError();
}

}  // namespace thinpipe::cuda
