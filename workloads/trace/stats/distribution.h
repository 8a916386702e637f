// How the elements of one gradient are distributed: moments and quantiles, the decay of the sorted
// magnitudes, and the distributions that SIDCo fits to them.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
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
  /// Quantiles of |g| at kMagnitudeLevels: the smallest magnitude that such a share does not
  /// exceed.
  std::array<double, kMagnitudeLevels.size()> quantiles = {};
};

/// @param descending  becomes the finite elements' magnitudes, the largest first.
GradientDistribution describe(std::span<const float> values, std::vector<float>& descending);

/// How fast sorted magnitudes fall, and what a best-k approximation loses (SIDCo, definition 1):
/// the power law g~_j <= c j^-p of SIDCo eq. 1, g~ being the magnitudes in descending order, and
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

/// The distributions that SIDCo fits to magnitudes, and the normal one, in the order of
/// kFittedNames.
enum class FittedKind { kExponential, kGamma, kPareto, kNormal };
inline constexpr std::array<const char*, 4> kFittedNames = {"exponential", "gamma", "gpareto",
                                                            "normal"};

/// A distribution of magnitudes |g|. Gradients of the first three are symmetric: double exponential
/// (Laplace), double gamma, double generalised Pareto (SIDCo, property 2). The magnitude of a
/// normal gradient is folded normal.
struct FittedDistribution {
  FittedKind kind = FittedKind::kExponential;
  double location = 0;  ///< the mean of the normal one; 0 for the others
  double shape = 1;     ///< gamma's and generalised Pareto's; 1 for the others
  double scale = 0;     ///< NaN where there is no fit
  double distance = 0;  ///< Kolmogorov-Smirnov: sup |F - F_n| over magnitudes; NaN without a fit

  double below(double magnitude) const;  ///< its distribution function F
};

/// Fits all four with the estimators that SIDCo's thresholds come from (compressors/select/
/// compressors/methods/sidco.h): exponential by the mean magnitude (corollary 1.1), gamma in closed
/// form by the mean and the mean logarithm (eq. 16; zeros left out of the latter), generalised
/// Pareto by mean and variance (eqs. 28 and 29); normal by mean and deviation of the signed values.
/// @param descending the magnitudes that `moments` are of, the largest first.
std::array<FittedDistribution, 4> fit_distributions(const GradientDistribution& moments,
                                                    std::span<const float> descending);

/// sup over x of |F(x) - F_n(x)|, exactly, F_n being the share of the elements that are at most x;
/// F is continuous and rises. It is evaluated only where the supremum can still be: some hundred
/// times for a million elements. NaN without elements.
double kolmogorov_distance(std::span<const float> descending,
                           const std::function<double(double)>& below);

}  // namespace thinpipe
