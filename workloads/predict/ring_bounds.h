// The performance model of Variance-based Gradient Compression (Tsuzuku et al. 2018), section 5:
// rings without latency, as the paper writes them. p workers, N parameters of s bits, beta seconds
// a bit, c the compression ratio, n_i the bits of worker i's message, m those of a block.
#pragma once

#include <span>

namespace thinpipe {

/// Ring all-reduce of uncompressed gradients: 2 (p - 1) N s beta / p.
double variance_all_reduce_time(double workers, double parameters, double bits, double beta);

/// Pipelined ring all-gather-v, at most: (sum n_i + (p - 1) m) beta.
double variance_all_gather_bound(std::span<const double> messages, double block, double beta);

/// By how much an exchange is at least faster than that all-reduce with blocks that are small:
/// 2 (p - 1) c / p^2.
double variance_speed_up(double workers, double ratio);

}  // namespace thinpipe
