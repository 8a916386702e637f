// Location statistics of a sample.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace thinpipe {

/// The arithmetic mean; of at least one value.
double mean(std::span<const double> values);

/// The q-quantile, 0 <= q <= 1, of at least one value, linear between order statistics: position
/// (n - 1) q (Hyndman & Fan 1996, type 7; the default of R and NumPy).
double quantile(std::span<const double> values, double q);

/// The 0.5-quantile of at least one value.
double median(std::span<const double> values);

/// exp(mean of logarithms); of at least one value, all positive.
double geometric_mean(std::span<const double> values);

/// Means of each value and the `window` - 1 before it, of fewer at the beginning; window >= 1.
std::vector<double> running_mean(std::span<const double> values, std::size_t window);

}  // namespace thinpipe
