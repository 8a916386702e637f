#include "workloads/trace/stats/trace_stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compressors/select/selector.h"

namespace thinpipe {
namespace {

constexpr std::size_t kCurvePoints = 100;

float finite_magnitude(float value) { return std::isfinite(value) ? std::fabs(value) : 0; }

StatsCurves curves_of(const GradientDistribution& distribution,
                      const std::array<FittedDistribution, 4>& fits,
                      std::span<const float> descending) {
  StatsCurves curves;
  const double norm = distribution.l2;
  curves.places = decay_places(descending.size());
  curves.errors = best_k_errors(descending, curves.places);
  for (double& error : curves.errors) error /= norm;
  for (const std::size_t place : curves.places) {
    curves.magnitudes.push_back(static_cast<double>(descending[place - 1]) / norm);
  }
  // Quantiles evenly spaced in the fraction, then geometrically closer towards the tail.
  std::vector<double> shares;
  for (std::size_t i = 1; i < kCurvePoints / 2; ++i) {
    shares.push_back(static_cast<double>(i) / (kCurvePoints / 2));
  }
  for (double rest = 0.02; rest * static_cast<double>(descending.size()) >= 1; rest *= 0.8) {
    shares.push_back(1 - rest);
  }
  const auto n = static_cast<double>(descending.size());
  for (const double share : shares) {
    const auto place = static_cast<std::size_t>((1 - share) * n);
    const double magnitude = descending[std::min(place, descending.size() - 1)];
    const double x = magnitude / norm;
    if (!curves.x.empty() && x <= curves.x.back()) continue;
    const auto at_most =
        descending.end() - std::lower_bound(descending.begin(), descending.end(),
                                            static_cast<float>(magnitude), std::greater<>());
    curves.x.push_back(x);
    curves.empirical.push_back(static_cast<double>(at_most) / n);
    for (std::size_t i = 0; i < fits.size(); ++i) {
      curves.fitted[i].push_back(fits[i].below(magnitude));
    }
  }
  return curves;
}

/// State of one unit: a tensor, or the whole model.
class Unit {
 public:
  Unit(const Trace& trace, const StatsOptions& options, const StatsSinks& sinks, std::string name,
       std::vector<std::size_t> tensors)
      : trace_(trace),
        options_(options),
        sinks_(sinks),
        name_(std::move(name)),
        tensors_(std::move(tensors)) {}

  void look_at(std::size_t step, std::optional<std::size_t> before) {
    std::vector<float> storage;
    for (const std::size_t rank : options_.parts.ranks) {
      const auto values = gradient(rank, step, storage);
      report(values, step, rank, false);
      if (options_.feedback) feed_back(values, step, rank);
      if (sinks_.advance) sinks_.advance(values.size());
    }
    compare_workers(step);
    if (before) compare_steps(step, *before);
  }

 private:
  std::span<const float> gradient(std::size_t rank, std::size_t step,
                                  std::vector<float>& storage) const {
    // A generated gradient is valid until the same tensor is requested for another step.
    if (tensors_.size() == 1 && !trace_.generated()) {
      return trace_.gradient(rank, step, tensors_.front());
    }
    storage.clear();
    for (const std::size_t i : tensors_) {
      const auto values = trace_.gradient(rank, step, i);
      storage.insert(storage.end(), values.begin(), values.end());
    }
    return storage;
  }

  void report(std::span<const float> values, std::size_t step, std::size_t rank, bool feedback) {
    GradientStats stats;
    stats.tensor = name_;
    stats.training_step = trace_.training_step(step);
    stats.rank = rank;
    stats.feedback = feedback;
    stats.distribution = describe(values, descending_);
    stats.decay = fit_decay(descending_, options_.ratios);
    stats.fits = fit_distributions(stats.distribution, descending_);
    if (options_.curves && stats.distribution.l2 > 0) {
      stats.curves = curves_of(stats.distribution, stats.fits, descending_);
    }
    sinks_.gradient(stats);
  }

  void feed_back(std::span<const float> values, std::size_t step, std::size_t rank) {
    std::vector<float>& residual = residuals_[rank];
    residual.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::isfinite(values[i])) residual[i] += values[i];
    }
    report(residual, step, rank, true);
    const std::size_t k = target_count(options_.feedback_ratio, residual.size());
    for (const std::size_t place : top_k_places(residual, k)) residual[place] = 0;
  }

  void compare(SimilarityStats stats, std::span<const float> a, std::span<const float> b) {
    const std::size_t k = target_count(options_.overlap_ratio, a.size());
    stats.tensor = name_;
    stats.cosine = cosine_of(a, b);
    stats.overlap = overlap_of(top_k_places(a, k), top_k_places(b, k));
    sinks_.similarity(stats);
  }

  void compare_workers(std::size_t step) {
    std::vector<float> a, b;
    const std::uint64_t training_step = trace_.training_step(step);
    for (std::size_t rank = 0; rank + 1 < trace_.ranks(); ++rank) {
      compare({"", true, training_step, training_step, rank, rank + 1, 0, 0},
              gradient(rank, step, a), gradient(rank + 1, step, b));
    }
  }

  void compare_steps(std::size_t step, std::size_t before) {
    std::vector<float> a, b;
    for (const std::size_t rank : options_.parts.ranks) {
      compare(
          {"", false, trace_.training_step(step), trace_.training_step(before), rank, rank, 0, 0},
          gradient(rank, step, a), gradient(rank, before, b));
    }
  }

  const Trace& trace_;
  const StatsOptions& options_;
  const StatsSinks& sinks_;
  std::string name_;
  std::vector<std::size_t> tensors_;
  std::map<std::size_t, std::vector<float>> residuals_;  // by rank
  std::vector<float> descending_;
};

}  // namespace

std::vector<std::size_t> top_k_places(std::span<const float> values, std::size_t k) {
  k = std::min(k, values.size());
  if (k == 0) return {};
  std::vector<float> magnitudes(values.size());
  std::transform(values.begin(), values.end(), magnitudes.begin(), finite_magnitude);
  const auto kth = magnitudes.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(magnitudes.begin(), kth, magnitudes.end(), std::greater<>());
  const float least = *kth;
  // The k largest contain this many elements equal to the smallest of them.
  auto equals = k - static_cast<std::size_t>(
                        std::count_if(magnitudes.begin(), kth, [&](float m) { return m > least; }));
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < values.size() && places.size() < k; ++i) {
    const float magnitude = finite_magnitude(values[i]);
    if (magnitude > least || (magnitude == least && equals > 0 && equals-- > 0)) {
      places.push_back(i);
    }
  }
  return places;
}

double cosine_of(std::span<const float> a, std::span<const float> b) {
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = std::isfinite(a[i]) ? static_cast<double>(a[i]) : 0;
    const double y = std::isfinite(b[i]) ? static_cast<double>(b[i]) : 0;
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return dot / (std::sqrt(aa) * std::sqrt(bb));
}

double overlap_of(std::span<const std::size_t> a, std::span<const std::size_t> b) {
  std::size_t both = 0;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (*x == *y) {
      ++both, ++x, ++y;
    } else if (*x < *y) {
      ++x;
    } else {
      ++y;
    }
  }
  return static_cast<double>(both) / static_cast<double>(a.size());
}

void compute_stats(const Trace& trace, const StatsOptions& options, const StatsSinks& sinks) {
  std::vector<Unit> units;
  for (const std::size_t i : options.parts.tensors) {
    units.emplace_back(trace, options, sinks, trace.tensors()[i].name, std::vector{i});
  }
  if (options.parts.tensors.size() > 1) {
    units.emplace_back(trace, options, sinks, kWholeModel, options.parts.tensors);
  }
  std::optional<std::size_t> before;
  for (const std::size_t step : options.parts.steps) {
    for (Unit& unit : units) unit.look_at(step, before);
    before = step;
  }
}

}  // namespace thinpipe
