// How long the pipelined rings take: closed forms of what a step-by-step simulation finds.
#pragma once

#include <span>

#include "workloads/predict/link_figures.h"

namespace thinpipe {

/// Bytes of one message of our rings (workloads/exchange/segments.h).
inline constexpr double kRingSegment = 32768;

/// `rounds` rounds in each of which every rank passes on `chunk` bytes, a segment as soon as it has
/// come, the link being idle before. The greater of
///   the link's time    alpha + (rounds * chunk - credit) beta and
///   the chain's time   rounds * alpha + (rounds - 1) (segment - credit) beta + (chunk - credit)
///   beta,
/// differences below 0 counting as 0: every path through the rounds is a mixture of the two, and
/// what the mixture takes is convex in its share.
double ring_chain_time(double rounds, double chunk, double segment, const LinkFigures& link);

/// Dense all-reduce of `bytes` on every rank: 2(n-1) rounds of bytes/n. Without alpha and credit
/// this is 2(p-1)Ns beta/p of Variance-based Gradient Compression, section 5.
double ring_all_reduce_time(int ranks, double bytes, const LinkFigures& link);

/// All-gather of messages of equal size, lengths included: n-1 rounds.
double ring_all_gather_time(int ranks, double bytes, const LinkFigures& link);

/// All-gather of messages of unequal sizes (bytes[r] of rank r): of all ways in which the last byte
/// can have been held up, the longest: q hops on which a segment of a window of messages leads, and
/// a link busy with the n-1-q messages of that window. O(n^2), O(n^3) for messages under a segment.
double ring_all_gather_time(std::span<const double> bytes, const LinkFigures& link);

}  // namespace thinpipe
