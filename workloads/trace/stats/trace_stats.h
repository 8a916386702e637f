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
#include "workloads/trace/stats/distribution.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

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
