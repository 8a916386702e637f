// How fast sorted magnitudes fall, and what a best-k approximation loses: SIDCo's definition 1.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace thinpipe {

/// The power law g~_j <= c j^-p of SIDCo eq. 1, g~ being the magnitudes in descending order, and
/// sigma_k = ||g - T_k(g)||_2 of eq. 2. A gradient counts as compressible for p > 1/2.
struct PowerDecay {
  double p = 0;          ///< by least squares of ln g~_j against ln j; NaN without two points
  double constant = 0;   ///< the least c for which the law with this p holds at all points
  double fit = 0;        ///< R^2 of that line
  std::size_t last = 0;  ///< the largest j that entered
  double error_p = 0;    ///< 1/2 less the slope of ln sigma_k against ln k: p by eq. 2
  std::vector<double>
      best_k_error;  ///< sigma_k / ||g||_2 for each ratio, k = max(ceil(ratio d), 1)
};

/// Up to 200 values of j, evenly spaced in ln j from 1 to ceil(0.37 d): the share of the elements
/// that SIDCo's fig. 7a shows (the first 10^5 of 269,722). Magnitudes of 0 do not enter.
/// @param descending magnitudes, the largest first.
PowerDecay fit_decay(std::span<const float> descending, std::span<const double> ratios);

/// The places j (from 1) that fit_decay looks at.
std::vector<std::size_t> decay_places(std::size_t elements);

/// sigma_k for each of `ks` (ascending): the norm of all but the k largest.
std::vector<double> best_k_errors(std::span<const float> descending,
                                  std::span<const std::size_t> ks);

}  // namespace thinpipe
