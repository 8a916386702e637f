// An all-reduce of sparse vectors that fill up on their way: the model of Deep Gradient
// Compression (Lin et al. 2018), section 5.
#pragma once

#include "workloads/predict/link_figures.h"

namespace thinpipe {

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
