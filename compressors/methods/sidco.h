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

/// A distribution of magnitudes with a shape and a scale. NaN both where there is no fit.
struct FittedShape {
  double shape = 0;
  double scale = 0;
};

/// Generalised Pareto by moments (SIDCo eqs. 28 and 29); the shape is below 1/2. No fit without
/// variance.
FittedShape fit_pareto(double mean, double variance);

/// Gamma by the mean and the mean of the logarithms, in closed form (eq. 16). No fit where the
/// logarithm of the mean is not above the mean of the logarithms.
FittedShape fit_gamma(double mean, double mean_log);

// Each returns how far above the location a share `delta` in (0, 1] of the fitted distribution
// lies; moments are those of the excess over the location.

/// Exponential: mean * ln(1 / delta) (SIDCo eqs. 6, 10 and 11).
double exponential_excess(double mean, double delta);

/// Generalised Pareto by moments (eqs. 7 to 9, 28 and 29): with a = (1 - mean^2 / variance) / 2 and
/// b = mean (mean^2 / variance + 1) / 2: b / a (e^(-a ln delta) - 1); its limit b ln(1 / delta)
/// for |a| < 1e-6, and its limit for no variance, the mean.
double pareto_excess(double mean, double variance, double delta);

/// Gamma (eqs. 15 and 16), from the mean of the logarithms too: with s = ln mean - mean_log,
/// shape = (3 - s + sqrt((s - 3)^2 + 24 s)) / (12 s) and scale = mean / shape:
/// -scale (ln delta + ln Gamma(shape)), which may be negative; `exact`: the scale times the
/// quantile itself. Where s is not positive, because zeros have no logarithm but count in the mean,
/// or because all magnitudes are equal, there is no fit: exponential.
double gamma_excess(double mean, double mean_log, double delta, bool exact);

// Formulas of these fits, for processors and GPUs.

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

// `rarity` is ln(1 / delta), which is the host's.

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

/// By the quantile itself, of a share delta.
THINPIPE_BOTH inline double gamma_exact_excess_of(double mean, double mean_log, double delta,
                                                  double rarity) {
  const FittedShape fit = gamma_shape(mean, mean_log);
  if (fit.shape != fit.shape) return mean * rarity;
  return fit.scale * exact_gamma_exceeded(fit.shape, delta);
}

/// How many stages are used, learned from how far the last selections were off (SIDCo algorithm 1,
/// function "adapt"): after every Q compressions, with m the mean number
/// selected, one stage fewer when m > k (1 + eps), one more when m < k (1 - eps).
///
/// `climb`: where tails are heavier than exponential the rule goes the wrong way (more stages
/// select fewer, not more). Then its direction is reversed when a move made |m - k| larger, and
/// when it wants to move past a bound, where it would stay for ever. With a residual, whose large
/// values are sent soon and so are missing, the rule goes the right way, but m takes many
/// compressions to follow a move: what was held back comes all at once, far past k. So
///  - a move that takes m past k was in the right direction, however far m then is;
///  - m must be eps k / 2 farther for a move to have made it worse, and nearer by as much for one
///    in the reversed direction to have made it better: else the rule's own direction holds again;
///  - at a bound the direction is reversed the fourth time only.
class SidcoStages {
 public:
  struct Options {
    int every = 5;
    double tolerance = 0.2;
    bool climb = false;
  };
  explicit SidcoStages(const Options& options) : options_(options) {}

  /// Stages for the next compression, 1 ... most.
  int stages(int most) const;
  /// Notes a compression that selected `count` of a target of k, with at most `most` stages.
  void note(std::size_t count, std::size_t k, int most);

  void reset();
  static constexpr std::size_t kStateSize = 5 * sizeof(std::int32_t) + 2 * sizeof(double);
  void save(ByteWriter& out) const;
  void load(ByteReader& in);

 private:
  void climb(double mean);
  void move(bool more, int most);

  Options options_;
  std::int32_t stages_ = 1;
  std::int32_t direction_ = 1;  ///< -1: the rule is reversed
  std::int32_t seen_ = 0;       ///< compressions since the last adaptation
  std::int32_t moved_ = 0;  ///< the last adaptation's move was for more (1) or fewer (-1) or none
  std::int32_t held_ = 0;   ///< adaptations in a row that a bound held back
  double sum_ = 0;          ///< of (count - k) / k since the last adaptation
  double last_ = 0;         ///< mean of these at the last adaptation
};

/// Distribution assumed of the magnitudes; called E, GP and P in the paper.
enum class SidcoDistribution { kExponential, kGamma, kPareto };

struct SidcoOptions {
  RatioSchedule ratio = {};
  SidcoDistribution distribution = SidcoDistribution::kExponential;
  bool exact_gamma = false;   ///< the gamma distribution's quantile instead of its approximation
  bool location_min = false;  ///< a later stage begins at the least that exceeded the one before
  double first_ratio = 0.25;  ///< delta_1, what the first of several stages keeps
  int fixed_stages = 0;       ///< M; 0: adapted by the rule
  bool climb = false;         ///< reverse the rule's direction where it makes things worse
  double tolerance = 0.2;     ///< epsilon_H = epsilon_L
  int every = 5;              ///< Q, compressions between adaptations
};

/// Options from the method's parameters.
SidcoOptions sidco_options(const Parameters& parameters);

/// Stage 1 fits all magnitudes and takes the threshold that a share delta_1 should exceed (the
/// ratio itself where there is one stage, or where it is at least delta_1). Stage m fits the excess
/// of what exceeded the stage before over that threshold, for a share
/// delta_m = (ratio / delta_1)^(1 / (M - 1)); a gamma distribution's tail is fitted as a
/// generalised Pareto distribution's (SIDCo alg. 1). The number of stages is adapted as SidcoStages
/// says. State is per tensor.
std::unique_ptr<Selector> make_sidco_selector(std::size_t elements, const SidcoOptions& options);

}  // namespace thinpipe
