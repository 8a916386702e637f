// Statistics of a trace: every tensor's distribution, decay and fits, with and without error
// feedback, and the similarity of workers and of steps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "workloads/trace/edit/edit.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

// The distribution of one gradient's elements: moments, quantiles, the decay of the sorted
// magnitudes, and the distributions that SIDCo fits to the magnitudes.

/// Fractions of the elements whose magnitude is at most the quantile.
inline constexpr std::array<double, 7> kMagnitudeLevels = {0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1};

/// Moments of the finite elements, zeros included; 0 or NaN if there are none.
struct GradientDistribution {
  std::size_t elements = 0;  ///< finite ones
  std::size_t zeros = 0;
  std::size_t non_finite = 0;
  double mean = 0;
  double deviation = 0;        ///< square root of the mean square distance from the mean
  double skewness = 0;         ///< third central moment over the deviation's cube
  double excess_kurtosis = 0;  ///< fourth over its fourth power, less 3: 0 if normal
  double l2 = 0;               ///< norm
  double mean_magnitude = 0;
  double magnitude_variance = 0;  ///< of |g|
  double mean_log = 0;            ///< of ln |g|, zeros left out
  /// Quantiles of |g| at kMagnitudeLevels: the smallest magnitude that this fraction of the
  /// elements does not exceed.
  std::array<double, kMagnitudeLevels.size()> quantiles = {};
};

/// Returns the distribution of `values`.
/// @param descending  set to the finite elements' magnitudes, the largest first.
GradientDistribution describe(std::span<const float> values, std::vector<float>& descending);

/// Decay of the sorted magnitudes and error of a best-k approximation (SIDCo, definition 1). The
/// decay is the power law g~_j <= c j^-p (SIDCo eq. 1), where g~ are the magnitudes in descending
/// order. The error is sigma_k = ||g - T_k(g)||_2 (eq. 2), where T_k selects the k largest
/// magnitudes. A gradient counts as compressible if p > 1/2.
struct PowerDecay {
  double p = 0;          ///< by least squares of ln g~_j against ln j; NaN without two points
  double constant = 0;   ///< the smallest c for which the law with this p is true at all points
  double fit = 0;        ///< R^2 of the regression line
  std::size_t last = 0;  ///< the largest j in the regression
  double error_p = 0;    ///< 1/2 less the slope of ln sigma_k against ln k: p by eq. 2
  std::vector<double>
      best_k_error;  ///< sigma_k / ||g||_2 for each ratio, k = max(ceil(ratio d), 1)
};

/// Fits the power law at up to 200 values of j, evenly spaced in ln j from 1 to ceil(0.37 d), where
/// d is the number of elements. SIDCo's fig. 7a shows the same fraction of the elements (the first
/// 10^5 of 269,722). Magnitudes of 0 are left out.
/// @param descending  magnitudes, the largest first.
PowerDecay fit_decay(std::span<const float> descending, std::span<const double> ratios);

/// Returns the ranks j (from 1) in the sorted magnitudes that fit_decay uses.
std::vector<std::size_t> decay_places(std::size_t elements);

/// Returns sigma_k for each of `ks` (ascending): the norm of all but the k largest magnitudes.
std::vector<double> best_k_errors(std::span<const float> descending,
                                  std::span<const std::size_t> ks);

/// The distributions that SIDCo fits to magnitudes, and the normal distribution, in the order of
/// kFittedNames.
enum class FittedKind { kExponential, kGamma, kPareto, kNormal };
inline constexpr std::array<const char*, 4> kFittedNames = {"exponential", "gamma", "gpareto",
                                                            "normal"};

/// A distribution that is fitted to the magnitudes |g| of a gradient. The first three kinds assume
/// that the gradient is symmetric about 0: double exponential (Laplace), double gamma, or double
/// generalised Pareto (SIDCo, property 2). The fourth kind assumes a normal gradient, whose
/// magnitudes are folded normal.
struct FittedDistribution {
  FittedKind kind = FittedKind::kExponential;
  double location = 0;  ///< mean of the normal distribution; 0 for the other kinds
  double shape = 1;     ///< of gamma and generalised Pareto; 1 for the other kinds
  double scale = 0;     ///< NaN without a fit
  double distance = 0;  ///< Kolmogorov-Smirnov: sup |F - F_n| over magnitudes; NaN without a fit

  double below(double magnitude) const;  ///< the distribution function F
};

/// Fits all four kinds with the estimators of SIDCo's thresholds (compressors/methods/sidco.h):
/// exponential by the mean magnitude (corollary 1.1), gamma in closed form by the mean and the mean
/// logarithm (eq. 16; zeros are left out of the logarithm), generalised Pareto by mean and variance
/// (eqs. 28 and 29), normal by mean and deviation of the signed values.
/// @param descending the magnitudes behind `moments`, the largest first.
std::array<FittedDistribution, 4> fit_distributions(const GradientDistribution& moments,
                                                    std::span<const float> descending);

/// Returns the exact Kolmogorov-Smirnov distance: the supremum over x of |F(x) - F_n(x)|. F is the
/// function `below`, and F_n(x) is the fraction of elements that are at most x. F must be
/// continuous and increasing. F is evaluated only where the supremum can still lie: some hundred
/// times for a million elements. Returns NaN without elements.
double kolmogorov_distance(std::span<const float> descending,
                           const std::function<double(double)>& below);

// The statistics of all gradients of a trace.

/// Name of the unit that concatenates all selected tensors.
inline constexpr const char* kWholeModel = "*";

struct StatsOptions {
  SliceParts parts;                                 ///< steps, ranks and tensors to analyse
  std::vector<double> ratios = {0.1, 0.01, 0.001};  ///< of best-k errors
  bool feedback = true;
  double feedback_ratio = 0.001;  ///< of the top-k whose error is fed back (SIDCo, app. B.2)
  double overlap_ratio = 0.01;    ///< of the top-k sets that are compared for overlap
  bool curves = false;            ///< also compute the points of figures
};

/// Points of SIDCo's figures for one gradient. As in the figures, magnitudes are divided by the
/// gradient's norm.
struct StatsCurves {
  std::vector<std::size_t> places;  ///< j of fig. 7a, k of fig. 7b
  std::vector<double> magnitudes;   ///< g~_j / ||g||
  std::vector<double> errors;       ///< sigma_k / ||g||
  std::vector<double> x;            ///< figs. 2 and 8: magnitudes over the norm, ascending
  std::vector<double> empirical;    ///< F_n(x)
  std::array<std::vector<double>, 4> fitted;  ///< F(x) of each fit, in the order of kFittedNames
};

/// One gradient: a tensor's, or the whole model's, of one rank in one step.
struct GradientStats {
  std::string tensor;  ///< tensor's name, or kWholeModel
  std::uint64_t training_step = 0;
  std::size_t rank = 0;
  bool feedback = false;  ///< the residual of earlier steps was added
  GradientDistribution distribution;
  PowerDecay decay;
  std::array<FittedDistribution, 4> fits;
  StatsCurves curves;  ///< empty unless requested
};

/// Returns the positions of the k largest magnitudes in ascending order. Among equal magnitudes the
/// lower positions are selected. NaN and infinities count as 0. If k exceeds the number of
/// elements, all positions are returned.
std::vector<std::size_t> top_k_places(std::span<const float> values, std::size_t k);

/// Returns (a . b) / (|a| |b|), in double; NaN if a vector is all zero. NaN and infinities count as
/// 0.
double cosine_of(std::span<const float> a, std::span<const float> b);

/// Returns the fraction of a's positions that are also in b. Both are ascending and of equal size.
/// NaN if empty.
double overlap_of(std::span<const std::size_t> a, std::span<const std::size_t> b);

/// Similarity of two gradients of one tensor.
struct SimilarityStats {
  std::string tensor;
  bool workers = false;             ///< two ranks in one step; else one rank in two recorded steps
  std::uint64_t training_step = 0;  ///< the later step
  std::uint64_t earlier_step = 0;   ///< equals training_step if `workers`
  std::size_t rank = 0;
  std::size_t other_rank = 0;
  double cosine = 0;
  double overlap = 0;  ///< of the top-k positions
};

/// Receivers of the results as they are computed.
struct StatsSinks {
  std::function<void(const GradientStats&)> gradient;
  std::function<void(const SimilarityStats&)> similarity;
  std::function<void(std::size_t)>
      advance;  ///< elements processed since the last call; may be empty
};

/// Computes the statistics of the selected steps in order. Error feedback (c = r + g, r = c -
/// T_k(c)) starts from a residual r = 0. Each tensor has a residual of its own, and the whole model
/// has another one. Similarity compares rank i with rank i + 1 for all ranks of the trace. It also
/// compares each selected rank with itself in the previous selected step.
void compute_stats(const Trace& trace, const StatsOptions& options, const StatsSinks& sinks);

}  // namespace thinpipe
