// Computes exchange times in closed form: pipelined rings, and sums of sparse vectors.
#pragma once

#include <algorithm>
#include <span>

namespace thinpipe {

/// Parameters of a network in the cost models: alpha, beta and the credit of its token buckets. One
/// message takes alpha + bytes * beta (Hockney 1994), less the credit of idle links. The models
/// assume that all ranks are alike. If they differ, the parameters are those of the ranks that
/// determine the time.
struct LinkFigures {
  double alpha = 0;   ///< seconds of an empty message between ranks: link delay and host overhead
  double beta = 0;    ///< seconds per payload byte, with the collective's other messages under way
  double credit = 0;  ///< payload bytes that a link's bucket lets pass for free after idling

  /// Returns the seconds for which a link is busy with `bytes` after it was idle.
  double seconds(double bytes) const { return std::max(0.0, bytes - credit) * beta; }
};

// The next functions model pipelined rings. A simulation of every segment gives the same times
// (tests/predict/exchange_time_test.cc).

/// Bytes of one message of thinpipe's rings (workloads/collectives/segments.h).
inline constexpr double kRingSegment = 32768;

/// Returns the seconds of a dense all-reduce of `bytes` on every rank, in 2(n-1) rounds of bytes/n.
/// Without alpha and credit this is the time 2(p-1)Ns beta/p of Variance-based Gradient
/// Compression, section 5.
double ring_all_reduce_time(int ranks, double bytes, const LinkFigures& link);

/// Returns the seconds of an all-gather of messages of equal size: n-1 rounds. `bytes` is the size
/// of one message, with its length field.
double ring_all_gather_time(int ranks, double bytes, const LinkFigures& link);

/// Returns the seconds of an all-gather of messages of unequal sizes (bytes[r] of rank r): the time
/// of the longest path by which the last byte can arrive. A path consists of q hops and one busy
/// link. The busy link carries a window of n-1-q consecutive messages, and each hop takes one
/// segment of that window. Costs O(n^2), or O(n^3) for messages smaller than a segment.
double ring_all_gather_time(std::span<const double> bytes, const LinkFigures& link);

// All functions from here on model sums of sparse vectors. The density of such a sum, its fraction
// of non-zero elements, grows with every summand. The model is that of Deep Gradient Compression
// (Lin et al. 2018), section 5.

/// Returns the fraction of non-zero elements in the sum of `summands` vectors of density `density`
/// that have no positions in common: `summands` times the density, at most 1. In an all-reduce by
/// doubling (log2 n rounds) this is the model's worst case: each round doubles the density.
double worst_density(double density, double summands);

/// Returns the density of the sum of n = `summands` vectors if all vectors' positions are
/// independent: 1 - (1 - density)^n.
double independent_density(double density, double summands);

/// Overlap of the positions of the summed vectors.
enum class Overlapping {
  kNone,         ///< no common positions: the worst case, each round doubles the density
  kIndependent,  ///< positions are random and independent
};

/// Returns the seconds of a sum by recursive doubling without re-selection: in step k of log2 n
/// (rounded up) every rank sends the sum of 2^k vectors.
/// @param bytes    size of one rank's encoded vector; each position takes the same size in a sum
/// @param density  fraction of non-zero elements in one vector, 0 to 1
/// @param dense    bytes of the dense array, the upper bound of every message
double sparse_doubling_time(int ranks, double bytes, double density, double dense,
                            Overlapping places, const LinkFigures& link);

}  // namespace thinpipe
