// SIDCo: a threshold from a distribution fitted to the magnitudes, refined over several stages.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "base/both.h"
#include "compressors/kernels/exact_math.h"
#include "compressors/select/selector.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {

class Parameters;

// The fits: thresholds from moments, in double.

/// A fitted distribution of magnitudes: shape and scale. Both are NaN where there is no fit.
struct FittedShape {
  double shape = 0;
  double scale = 0;
};

/// Fits a generalised Pareto distribution by moments (SIDCo eqs. 28 and 29); the shape is below
/// 1/2. No fit without variance.
FittedShape fit_pareto(double mean, double variance);

/// Fits a gamma distribution by the mean and the mean of the logarithms, in closed form (eq. 16).
/// No fit where the logarithm of the mean is not above the mean of the logarithms.
FittedShape fit_gamma(double mean, double mean_log);

// Each function returns the distance above the distribution's location that a fraction `delta` in
// (0, 1] of the fitted distribution exceeds. Its arguments are the moments of the excess over the
// location.

/// Exponential: returns mean * ln(1 / delta) (SIDCo eqs. 6, 10 and 11).
double exponential_excess(double mean, double delta);

/// Generalised Pareto by moments (eqs. 7 to 9, 28 and 29): with a = (1 - mean^2 / variance) / 2 and
/// b = mean (mean^2 / variance + 1) / 2, returns b / a (e^(-a ln delta) - 1). For |a| < 1e-6,
/// returns the limit of this expression, b ln(1 / delta). Without variance, returns its limit, the
/// mean.
double pareto_excess(double mean, double variance, double delta);

/// Gamma (eqs. 15 and 16), which also takes the mean of the logarithms: with s = ln mean -
/// mean_log, shape = (3 - s + sqrt((s - 3)^2 + 24 s)) / (12 s) and scale = mean / shape, returns
/// -scale (ln delta + ln Gamma(shape)), which may be negative. With `exact`, returns the scale
/// times the exact quantile instead. If s is not positive, there is no fit, and the exponential
/// distribution is used. That happens because zeros count in the mean but have no logarithm, or
/// because all magnitudes are equal.
double gamma_excess(double mean, double mean_log, double delta, bool exact);

// Formulas of these fits, for the host and GPUs.

namespace sidco {
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
}

THINPIPE_BOTH inline FittedShape pareto_shape(double mean, double variance) {
  const double squared = mean * mean / variance;
  if (!std::isfinite(squared)) return {sidco::kNone, sidco::kNone};
  return {0.5 * (1 - squared), 0.5 * mean * (squared + 1)};
}

THINPIPE_BOTH inline FittedShape gamma_shape(double mean, double mean_log) {
  const double s = exact_log(mean) - mean_log;
  const double shape = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
  if (!(s > 0) || !std::isfinite(shape)) return {sidco::kNone, sidco::kNone};
  return {shape, mean / shape};
}

// `rarity` is ln(1 / delta), which the host computes.

THINPIPE_BOTH inline double pareto_excess_of(double mean, double variance, double rarity) {
  constexpr double kExponential = 1e-6;  // |a| below which the limit is more accurate
  const FittedShape fit = pareto_shape(mean, variance);
  if (fit.shape != fit.shape) return mean;
  if (std::fabs(fit.shape) < kExponential) return fit.scale * rarity;
  return fit.scale / fit.shape * exact_expm1(fit.shape * rarity);
}

THINPIPE_BOTH inline double gamma_excess_of(double mean, double mean_log, double rarity) {
  const FittedShape fit = gamma_shape(mean, mean_log);
  if (fit.shape != fit.shape) return mean * rarity;
  return fit.scale * (rarity - exact_log_gamma(fit.shape));
}

/// Uses the quantile itself, which a fraction delta exceeds.
THINPIPE_BOTH inline double gamma_exact_excess_of(double mean, double mean_log, double delta,
                                                  double rarity) {
  const FittedShape fit = gamma_shape(mean, mean_log);
  if (fit.shape != fit.shape) return mean * rarity;
  return fit.scale * exact_gamma_exceeded(fit.shape, delta);
}

/// Rule that adapts the number of stages. All rules look at m, the mean number of elements selected
/// in the last Q compressions, and move by one stage while m is out of k (1 - eps) ... k (1 + eps).
///
/// With tails heavier than exponential, the paper's rule goes the wrong way, because more stages
/// then select fewer elements, not more. All other rules therefore reverse its direction at times.
enum class SidcoRule {
  /// SIDCo algorithm 1, function "adapt": one stage fewer when m > k (1 + eps), one more when m <
  /// k (1 - eps). Mode -1 of the published code (github.com/sands-lab/SIDCo, compression.py).
  kPaper,
  /// Reverses the direction when a move made |m - k| larger, and when the rule wants to pass a
  /// bound of the stages, where it would stay for ever. With a residual, large values are sent
  /// soon and so are missing, and the paper's rule goes the right way. But m then takes many
  /// compressions to follow a move, because accumulated values are sent all at once, far past
  /// k. Therefore:
  ///  - A move that takes m past k counts as right, however far m then is.
  ///  - A move counts as wrong only if m is eps k / 2 farther from k afterwards. A reversed
  ///    move counts as right only if m is eps k / 2 nearer to k; otherwise the rule's own
  ///    direction holds again.
  ///  - At a bound the direction is reversed only the fourth time.
  kClimb,
  /// Mode -2 of the published code: reverses the direction whenever |m - k| became larger, whether
  /// or not there was a move.
  kPublished2,
  /// Mode -3 of the published code: reverses the direction unless the last m was out of the
  /// tolerated band and m moved from there towards k, or past k.
  kPublished3,
};

/// Adapts the number of stages to the counts of the last selections.
class SidcoStages {
 public:
  struct Options {
    int every = 5;
    double tolerance = 0.2;
    SidcoRule rule = SidcoRule::kPaper;
  };
  explicit SidcoStages(const Options& options) : options_(options) {}

  /// Returns the stages for the next compression, 1 ... most.
  int stages(int most) const;
  /// Records a compression that selected `count` of a target of k, with at most `most` stages.
  void note(std::size_t count, std::size_t k, int most);

  void reset();
  static constexpr std::size_t kStateSize = 5 * sizeof(std::int32_t) + 2 * sizeof(double);
  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  bool goes_wrong(double mean) const;
  void move(bool more, int most);

  static constexpr double kUnknown = -1;  ///< also the mean where nothing was selected

  Options options_;
  std::int32_t stages_ = 1;
  std::int32_t direction_ = 1;  ///< -1: the rule is reversed
  std::int32_t seen_ = 0;       ///< compressions since the last adaptation
  std::int32_t moved_ = 0;  ///< the last adaptation's move: more stages (1), fewer (-1), none (0)
  std::int32_t held_ = 0;   ///< adaptations in a row that a bound prevented
  double sum_ = 0;          ///< of (count - k) / k since the last adaptation
  double last_ = kUnknown;  ///< mean of these terms at the last adaptation
};

/// Assumed distribution of the magnitudes: E, GP and P in the paper.
enum class SidcoDistribution { kExponential, kGamma, kPareto };

struct SidcoOptions {
  RatioSchedule ratio = {};
  SidcoDistribution distribution = SidcoDistribution::kExponential;
  bool exact_gamma = false;   ///< the gamma distribution's quantile instead of its approximation
  bool location_min = false;  ///< a later stage begins at the least element of its tail
  double first_ratio = 0.25;  ///< delta_1, the fraction that the first of several stages keeps
  int fixed_stages = 0;       ///< M; 0: adapted by the rule
  SidcoRule rule = SidcoRule::kPaper;  ///< adapts the stages
  double tolerance = 0.2;              ///< epsilon_H = epsilon_L
  int every = 5;                       ///< Q, compressions between adaptations
};

/// Reads options from the method's parameters.
SidcoOptions sidco_options(const Parameters& parameters);

/// Makes SIDCo's selector (SIDCo alg. 1), which has M stages. Stage 1 fits all magnitudes and takes
/// the threshold that a fraction delta_1 should exceed. With one stage, or where the ratio is at
/// least delta_1, this fraction is the ratio itself. Stage m fits the elements above the previous
/// threshold, by their excess over it, for a fraction delta_m = (ratio / delta_1)^(1 / (M - 1)). A
/// gamma distribution's tail is fitted as a generalised Pareto distribution. SidcoStages adapts the
/// number of stages. State is per tensor.
std::unique_ptr<Selector> make_sidco_selector(std::size_t elements, const SidcoOptions& options);

}  // namespace thinpipe
