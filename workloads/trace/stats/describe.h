// The distribution of one gradient's elements: moments, quantiles, zeros.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace thinpipe {

/// Shares of the elements whose magnitude is at most the quantile.
inline constexpr std::array<double, 7> kMagnitudeLevels = {0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1};

/// Moments are of the finite elements, zeros included; 0 or NaN where there are none.
struct GradientDistribution {
  std::size_t elements = 0;  ///< finite ones
  std::size_t zeros = 0;
  std::size_t non_finite = 0;
  double mean = 0;
  double deviation = 0;        ///< sqrt of the mean square distance from the mean
  double skewness = 0;         ///< third central moment over the deviation's cube
  double excess_kurtosis = 0;  ///< fourth over its fourth power, less 3: 0 for a normal one
  double l2 = 0;               ///< norm
  double mean_magnitude = 0;
  double magnitude_variance = 0;  ///< of |g|
  double mean_log = 0;            ///< of ln |g|, zeros left out
  /// Of |g| at kMagnitudeLevels: the smallest magnitude that such a share does not exceed.
  std::array<double, kMagnitudeLevels.size()> quantiles = {};
};

/// @param descending  becomes the finite elements' magnitudes, the largest first.
GradientDistribution describe(std::span<const float> values, std::vector<float>& descending);

}  // namespace thinpipe
