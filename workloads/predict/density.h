// How sums of sparse vectors fill up.
#pragma once

namespace thinpipe {

/// Share of elements that are not zero in the sum of `summands` vectors of which each has the share
/// `density`, if no two vectors share a place: n times the density, at most 1. In an all-reduce by
/// doubling (log2 n rounds) that is the worst case of Deep Gradient Compression, section 5: the
/// density doubles at every aggregation.
double worst_density(double density, double summands);

/// The same if every vector's places are independent of the others': 1 - (1 - density)^n.
double independent_density(double density, double summands);

}  // namespace thinpipe
