// A CUDA runtime that a processor plays, so that what is written for CUDA's runs where there is no
// GPU: two GPUs, whose memory is the host's. Streams do what they are asked for as late as somebody
// waits for it, or, where chance has it, sooner, and each by itself. Calls that CUDA refuses are
// refused, and so is a copy beyond what was allocated.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>

namespace thinpipe::cuda::played {

/// Asks a stream for a kernel.
cudaError_t launch(cudaStream_t stream, std::function<void()> kernel);

/// Objects made and not destroyed.
struct Alive {
  std::size_t memory = 0, host_memory = 0, streams = 0, events = 0, graphs = 0;
  bool operator==(const Alive&) const = default;
};
Alive alive();

/// From now on graphs are not made ready, as by a driver that cannot.
void refuse_graphs(bool refuse);
/// How often graphs were started.
std::size_t graph_launches();

}  // namespace thinpipe::cuda::played
