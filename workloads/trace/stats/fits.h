// The distributions that SIDCo fits to magnitudes, and the normal one, with their distances.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "workloads/trace/stats/describe.h"

namespace thinpipe {

/// In the order of kFittedNames.
enum class FittedKind { kExponential, kGamma, kPareto, kNormal };
inline constexpr std::array<const char*, 4> kFittedNames = {"exponential", "gamma", "gpareto",
                                                            "normal"};

/// A distribution of magnitudes |g|. Gradients of the first three are symmetric: double exponential
/// (Laplace), double gamma, double generalised Pareto (SIDCo, property 2). Of a normal gradient the
/// magnitude is folded normal.
struct FittedDistribution {
  FittedKind kind = FittedKind::kExponential;
  double location = 0;  ///< the mean of the normal one; 0 for the others
  double shape = 1;     ///< gamma's and generalised Pareto's; 1 for the others
  double scale = 0;     ///< NaN where there is no fit
  double distance = 0;  ///< Kolmogorov-Smirnov: sup |F - F_n| over magnitudes; NaN without a fit

  double below(double magnitude) const;  ///< its distribution function F
};

/// Fits all four with the estimators that SIDCo's thresholds come from (compressors/select/
/// sidco_fit.h): exponential by the mean magnitude (corollary 1.1), gamma in closed form by the
/// mean and the mean logarithm (eq. 16; zeros left out of the latter), generalised Pareto by mean
/// and variance (eqs. 28 and 29); normal by mean and deviation of the signed values.
/// @param descending the magnitudes that `moments` are of, the largest first.
std::array<FittedDistribution, 4> fit_distributions(const GradientDistribution& moments,
                                                    std::span<const float> descending);

/// sup over x of |F(x) - F_n(x)|, exactly, F_n being the share of the elements that are at most x;
/// F is continuous and rises. It is evaluated only where the supremum can still be: some hundred
/// times for a million elements. NaN without elements.
double kolmogorov_distance(std::span<const float> descending,
                           const std::function<double(double)>& below);

}  // namespace thinpipe
