// Launches kernels on a GPU. No other file needs nvcc.
#pragma once

#include <cuda_runtime.h>

#include "compressors/cuda/grid/cuda_block.cuh"

namespace thinpipe::cuda {

/// Blocks that a multiprocessor must be able to run at a time; 0: as many as it can.
template <class Kernel>
constexpr int min_blocks() {
  if constexpr (requires { Kernel::kMinBlocks; }) return Kernel::kMinBlocks;
  return 0;
}

/// Runs a kernel functor, which is written for any block type, on a CudaBlock.
template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, min_blocks<Kernel>())
    run(const __grid_constant__ Kernel kernel) {
  using Block = CudaBlock<Kernel::kThreads>;
  // As bytes: variables in shared memory must not have constructors.
  __shared__ alignas(16) unsigned char shared[sizeof(typename Kernel::Shared)];
  __shared__ alignas(16) unsigned char own[sizeof(typename Block::Shared)];
  Block block(*reinterpret_cast<typename Block::Shared*>(own));
  kernel(block, *reinterpret_cast<typename Kernel::Shared*>(shared));
}

/// Launches a kernel on `blocks` thread blocks, in the order of the stream.
template <class Kernel>
cudaError_t launch_kernel(const Kernel& kernel, unsigned blocks, cudaStream_t stream) {
  run<Kernel><<<blocks, Kernel::kThreads, 0, stream>>>(kernel);
  return cudaGetLastError();
}

}  // namespace thinpipe::cuda
