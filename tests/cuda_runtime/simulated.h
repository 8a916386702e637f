// A simulated CUDA runtime with two GPUs, whose memory is host memory, so that code for CUDA runs
// without a GPU. Each stream runs its work independently, when the host waits for it or, at random,
// earlier. The runtime refuses calls that CUDA refuses, and copies beyond an allocation.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>

namespace thinpipe::cuda::simulated {

/// Enqueues a kernel on a stream.
cudaError_t launch(cudaStream_t stream, std::function<void()> kernel);

/// Numbers of objects that have been created and not destroyed.
struct Alive {
  std::size_t memory = 0, host_memory = 0, streams = 0, events = 0, graphs = 0;
  bool operator==(const Alive&) const = default;
};
Alive alive();

/// Makes instantiation of graphs fail from now on, as with a driver that does not support them.
void refuse_graphs(bool refuse);
/// Returns how often graphs were launched.
std::size_t graph_launches();

}  // namespace thinpipe::cuda::simulated
