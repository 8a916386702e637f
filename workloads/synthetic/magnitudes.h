// Distributions that synthetic gradients are drawn from: how great the values of either sign are.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace thinpipe {

/// The magnitudes of the values of one sign, by their quantiles. Both functions fall or rise
/// steadily and agree: upper(p) = lower(1 - p); each is precise where its argument is small.
class Magnitudes {
 public:
  virtual ~Magnitudes() = default;
  /// The magnitude that a share p in (0, 1) of them exceeds.
  virtual double upper(double p) const = 0;
  /// The magnitude that a share q in (0, 1) of them stays below.
  virtual double lower(double q) const = 0;
};

/// A distribution of values; what is neither negative nor positive is exactly 0.
struct ValueDistribution {
  double negative = 0.5;  ///< share of negative values
  double positive = 0.5;
  std::shared_ptr<const Magnitudes> below, above;  ///< magnitudes of negative and positive values
  bool finite_variance = true;
};

/// The families, each with scale 1 and either sign equally often.
///   laplace             P(|x| > t) = exp(-t)
///   gamma               |x| is gamma distributed of that shape: density t^(shape-1) exp(-t)
///   gpareto             P(|x| > t) = (1 + shape t)^(-1/shape)
///   normal              standard normal
///   student             Student's t of `dof` degrees of freedom
///   bernoulli-gaussian  0 with probability `zeros`, else standard normal
struct FamilyParameters {
  double shape = 1;  ///< gamma: 0.1 to 20; gpareto: 0 to 2
  double dof = 3;    ///< 0.5 to 1000
  double zeros = 0;  ///< share of zeros, in [0, 1); any family may have some
};

const std::vector<std::string>& family_names();

/// @throws std::logic_error for a name that is not among family_names().
ValueDistribution make_family(const std::string& name, const FamilyParameters& parameters);

/// The distribution of a sample by its empirical quantiles: order statistic i of n (from 0) lies at
/// (i + 0.5) / n, values between two of them are interpolated linearly, and nothing lies beyond the
/// extremes. Zeros are zeros; NaN and infinities are left out. All 0 for an empty sample.
ValueDistribution make_empirical(std::vector<float> sample);

}  // namespace thinpipe
