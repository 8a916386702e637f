// Times of exchanges in closed form: pipelined rings, and sums of sparse vectors that fill up.
#pragma once

#include <algorithm>
#include <span>

namespace thinpipe {

/// A network as the cost models see it: alpha, beta, and what its token buckets have saved up.
/// Times of one message: alpha + bytes * beta (Hockney 1994), less what idle links let through at
/// once. All ranks are alike; where they are not, these are the figures of the ranks that decide.
struct LinkFigures {
  double alpha = 0;   ///< s from a rank to another for a message without bytes: delay, and machines
  double beta = 0;    ///< s for each byte of payload, while the pattern's other messages cross too
  double credit = 0;  ///< bytes of payload that cross for free after a link has idled (its bucket)

  /// s that a link is busy with so many bytes after it has idled.
  double seconds(double bytes) const { return std::max(0.0, bytes - credit) * beta; }
};

// Pipelined rings: closed forms of what a step-by-step simulation finds.

/// Bytes of one message of our rings (workloads/exchange/segments.h).
inline constexpr double kRingSegment = 32768;

/// Dense all-reduce of `bytes` on every rank: 2(n-1) rounds of bytes/n. Without alpha and credit
/// this is 2(p-1)Ns beta/p of Variance-based Gradient Compression, section 5.
double ring_all_reduce_time(int ranks, double bytes, const LinkFigures& link);

/// All-gather of messages of equal size, lengths included: n-1 rounds.
double ring_all_gather_time(int ranks, double bytes, const LinkFigures& link);

/// All-gather of messages of unequal sizes (bytes[r] of rank r): of all ways in which the last byte
/// can have been held up, the longest: q hops on which a segment of a window of messages leads, and
/// a link busy with the n-1-q messages of that window. O(n^2), O(n^3) for messages under a segment.
double ring_all_gather_time(std::span<const double> bytes, const LinkFigures& link);

// Sums of sparse vectors, which fill up on their way: the model of Deep Gradient Compression (Lin
// et al. 2018), section 5.

/// Share of elements that are not zero in the sum of `summands` vectors of which each has the share
/// `density`, if no two vectors share a place: n times the density, at most 1. In an all-reduce by
/// doubling (log2 n rounds) that is the worst case of the model: the
/// density doubles at every aggregation.
double worst_density(double density, double summands);

/// The same if every vector's places are independent of the others': 1 - (1 - density)^n.
double independent_density(double density, double summands);

/// How many places the vectors that are summed have in common.
enum class Overlapping {
  kNone,         ///< none: the worst case, in which the density doubles at every aggregation
  kIndependent,  ///< as many as chance wants
};

/// Sums by recursive doubling without re-selection: in step k of log2 n (rounded up) every rank
/// sends the sum of 2^k vectors.
/// @param bytes    of one rank's vector as it is encoded; its places take as much in a sum
/// @param density  share of elements in it, of 0 to 1
/// @param dense    bytes of the dense array, which nothing is longer than
double sparse_doubling_time(int ranks, double bytes, double density, double dense,
                            Overlapping places, const LinkFigures& link);

}  // namespace thinpipe
