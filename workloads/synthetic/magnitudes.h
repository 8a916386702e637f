// Distributions of synthetic gradients: the magnitudes of negative and of positive values.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace thinpipe {

/// Quantiles of the magnitudes of all positive or of all negative values. upper() and lower() are
/// monotone, and upper(p) = lower(1 - p). Each of the two functions is precise for small arguments.
class Magnitudes {
 public:
  virtual ~Magnitudes() = default;
  /// Returns the magnitude that a fraction p in (0, 1) of the values exceeds.
  virtual double upper(double p) const = 0;
  /// Returns the magnitude that a fraction q in (0, 1) of the values stays below.
  virtual double lower(double q) const = 0;
};

/// A distribution of values. The remainder that is neither negative nor positive is exactly 0.
struct ValueDistribution {
  double negative = 0.5;                           ///< fraction of negative values
  double positive = 0.5;                           ///< fraction of positive values
  std::shared_ptr<const Magnitudes> below, above;  ///< magnitudes of negative and positive values
  bool finite_variance = true;
};

/// Parameters of the families. Each family has scale 1 and is symmetric.
///   laplace             P(|x| > t) = exp(-t)
///   gamma               |x| is gamma distributed of that shape: density t^(shape-1) exp(-t)
///   gpareto             P(|x| > t) = (1 + shape t)^(-1/shape)
///   normal              standard normal
///   student             Student's t of `dof` degrees of freedom
///   bernoulli-gaussian  0 with probability `zeros`, else standard normal
struct FamilyParameters {
  double shape = 1;  ///< gamma: 0.1 to 20; gpareto: 0 to 2
  double dof = 3;    ///< 0.5 to 1000
  double zeros = 0;  ///< fraction of zeros, in [0, 1), for any family
};

const std::vector<std::string>& family_names();

/// Returns the distribution of a family.
/// @throws std::logic_error for a name that is not among family_names().
ValueDistribution make_family(const std::string& name, const FamilyParameters& parameters);

/// Returns the distribution of a sample by its empirical quantiles. Order statistic i of n (from 0)
/// is the quantile at (i + 0.5) / n. Quantiles between two order statistics are interpolated
/// linearly. No quantile lies beyond the smallest or the largest order statistic. Zeros stay zeros;
/// NaN and infinities are left out. An empty sample gives all zeros.
ValueDistribution make_empirical(std::vector<float> sample);

}  // namespace thinpipe
