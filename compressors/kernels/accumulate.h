// What a memory does with a new gradient, in one pass over its state.
#pragma once

#include <span>

namespace thinpipe {

// All spans have the same length and do not overlap. Products are rounded before they are added
// (no fused multiply-add), so that every machine computes the same bits.

/// r = decay * r + scale * g
void accumulate(std::span<const float> g, float decay, float scale, std::span<float> r);

/// u = momentum * u + scale * g;  v = v + u  (Deep Gradient Compression, eq. 7)
void accumulate_momentum(std::span<const float> g, float momentum, float scale, std::span<float> u,
                         std::span<float> v);

/// u = momentum * (u + scale * g);  v = v + u + scale * g  (Deep Gradient Compression, eq. 10)
void accumulate_nesterov(std::span<const float> g, float momentum, float scale, std::span<float> u,
                         std::span<float> v);

/// out += factor * x
void add_scaled(std::span<const float> x, float factor, std::span<float> out);

}  // namespace thinpipe
