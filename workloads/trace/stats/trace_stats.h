// Statistics of a trace: every tensor's distribution, decay and fits, with and without error
// feedback, and how alike workers and steps are.
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

/// The unit of statistics that is all of the parts' tensors, one after the other.
inline constexpr const char* kWholeModel = "*";

struct StatsOptions {
  SliceParts parts;  ///< ranks: those whose distributions are looked at
  std::vector<double> ratios = {0.1, 0.01, 0.001};  ///< of best-k errors
  bool feedback = true;
  double feedback_ratio = 0.001;  ///< of the top-k whose error is fed back (SIDCo, app. B.2)
  double overlap_ratio = 0.01;    ///< of the top-k that workers and steps may share
  bool curves = false;            ///< points of figures, too
};

/// Points of SIDCo's figures, for one gradient. Magnitudes are over the gradient's norm, as there.
struct StatsCurves {
  std::vector<std::size_t> places;  ///< j of fig. 7a, k of fig. 7b
  std::vector<double> magnitudes;   ///< g~_j / ||g||
  std::vector<double> errors;       ///< sigma_k / ||g||
  std::vector<double> x;            ///< of figs. 2 and 8: magnitudes over the norm, ascending
  std::vector<double> empirical;    ///< F_n(x)
  std::array<std::vector<double>, 4> fitted;  ///< F(x) of each fit, in the order of kFittedNames
};

/// One gradient: a tensor's, or the whole model's, of one rank in one step.
struct GradientStats {
  std::string tensor;  ///< its name, or kWholeModel
  std::uint64_t training_step = 0;
  std::size_t rank = 0;
  bool feedback = false;  ///< the residual of the steps before it was added
  GradientDistribution distribution;
  PowerDecay decay;
  std::array<FittedDistribution, 4> fits;
  StatsCurves curves;  ///< empty unless asked for
};

/// The places of the k largest magnitudes, ascending; equal ones by the lower place. Values that
/// are not finite count as 0. k is cut to the number of elements.
std::vector<std::size_t> top_k_places(std::span<const float> values, std::size_t k);

/// (a . b) / (|a| |b|), in double; NaN where one is all zero. Values that are not finite count as
/// 0.
double cosine_of(std::span<const float> a, std::span<const float> b);

/// The share of a's places that are b's too; both ascending and as many. NaN where there are none.
double overlap_of(std::span<const std::size_t> a, std::span<const std::size_t> b);

/// How alike two gradients of one tensor are.
struct SimilarityStats {
  std::string tensor;
  bool workers = false;             ///< two ranks in one step; else one rank in two recorded steps
  std::uint64_t training_step = 0;  ///< the later one
  std::uint64_t earlier_step = 0;   ///< as training_step where `workers`
  std::size_t rank = 0;
  std::size_t other_rank = 0;
  double cosine = 0;
  double overlap = 0;  ///< of the top-k places
};

/// Receivers of the results, as they come.
struct StatsSinks {
  std::function<void(const GradientStats&)> gradient;
  std::function<void(const SimilarityStats&)> similarity;
  std::function<void(std::size_t)>
      advance;  ///< elements looked at since the last call; may be empty
};

/// Goes through the parts' steps in order. Error feedback (c = r + g, r = c - T_k(c)) runs over
/// them from r = 0, with a residual for each tensor and one for the whole model. Similarity is that
/// of neighbouring ranks (r, r + 1), all of the trace's, and of each of the parts' ranks with
/// itself in the part's step before.
void compute_stats(const Trace& trace, const StatsOptions& options, const StatsSinks& sinks);

}  // namespace thinpipe
