// Threads of a GPU that run together.
#pragma once

namespace thinpipe::cuda {

constexpr int kWarpThreads = 32;

}  // namespace thinpipe::cuda
