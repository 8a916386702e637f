// Element-wise passes over arrays: sums of local steps, an outer optimiser, elements at positions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/in_tile.h"

namespace thinpipe::cuda {

/// to += from
struct AddElement {
  float* to;
  const float* from;

  THINPIPE_KERNEL void operator()(std::size_t i) const { to[i] = to[i] + from[i]; }
};

/// v <- m v + x, out = rate (x + m v)
struct NesterovElement {
  const float* x;
  float* v;
  float* out;
  float momentum, rate;

  THINPIPE_KERNEL void operator()(std::size_t i) const {
    const float own = x[i];
    const float velocity = momentum * v[i] + own;
    v[i] = velocity;
    out[i] = rate * (own + momentum * velocity);
  }
};

/// to[p] = value; positions are distinct.
struct PutElement {
  float* to;
  const std::uint32_t* positions;
  const float* values;

  THINPIPE_KERNEL void operator()(std::size_t i) const { to[positions[i]] = values[i]; }
};

/// Grid: blocks_for(n).
template <class Element>
struct EachElement {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kElements = 4096;  ///< of a block: 16 a thread
  struct Shared {};

  Element element;
  std::size_t n;

  static constexpr std::size_t blocks_for(std::size_t n) { return (n + kElements - 1) / kElements; }

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    block.each([&](int t) {
      each_in_tile<kThreads, kElements>(t, block.index(), n, [&](std::size_t i) { element(i); });
    });
  }
};

}  // namespace thinpipe::cuda
