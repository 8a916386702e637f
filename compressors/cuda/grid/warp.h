// Size of a warp.
#pragma once

namespace thinpipe::cuda {

constexpr int kWarpThreads = 32;

}  // namespace thinpipe::cuda
