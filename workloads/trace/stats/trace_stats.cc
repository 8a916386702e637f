#include "workloads/trace/stats/trace_stats.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compressors/methods/sidco.h"
#include "compressors/select/distributions.h"
#include "compressors/select/selector.h"

namespace thinpipe {
namespace {

// The distribution of one gradient.

constexpr double kNoFit = std::numeric_limits<double>::quiet_NaN();

/// A straight line by least squares.
struct Line {
  double slope = kNoFit;
  double r_squared = kNoFit;
};

Line fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  if (x.size() < 2) return {};
  const auto n = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    yy += (y[i] - mean_y) * (y[i] - mean_y);
  }
  return {xy / xx, yy == 0 ? 1 : xy * xy / (xx * yy)};
}

}  // namespace

GradientDistribution describe(std::span<const float> values, std::vector<float>& descending) {
  GradientDistribution result;
  descending.clear();
  descending.reserve(values.size());
  double sum = 0, sum_magnitude = 0, sum_log = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++result.non_finite;
      continue;
    }
    const double magnitude = std::fabs(static_cast<double>(value));
    descending.push_back(std::fabs(value));
    sum += static_cast<double>(value);
    sum_magnitude += magnitude;
    if (value == 0) {
      ++result.zeros;
    } else {
      sum_log += std::log(magnitude);
    }
  }
  result.elements = descending.size();
  const auto n = static_cast<double>(result.elements);
  result.mean = sum / n;
  result.mean_magnitude = sum_magnitude / n;
  result.mean_log = sum_log / (n - static_cast<double>(result.zeros));

  double second = 0, third = 0, fourth = 0, magnitude_second = 0, square = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double x = static_cast<double>(value) - result.mean;
    second += x * x;
    third += x * x * x;
    fourth += x * x * x * x;
    const double magnitude = std::fabs(static_cast<double>(value));
    magnitude_second += (magnitude - result.mean_magnitude) * (magnitude - result.mean_magnitude);
    square += magnitude * magnitude;
  }
  const double variance = second / n;
  result.deviation = std::sqrt(variance);
  result.skewness = third / n / (variance * result.deviation);
  result.excess_kurtosis = fourth / n / (variance * variance) - 3;
  result.magnitude_variance = magnitude_second / n;
  result.l2 = std::sqrt(square);

  std::sort(descending.begin(), descending.end(), std::greater<>());
  for (std::size_t i = 0; i < kMagnitudeLevels.size(); ++i) {
    if (descending.empty()) {
      result.quantiles[i] = kNoFit;
      continue;
    }
    const auto rank = static_cast<std::size_t>(std::ceil(kMagnitudeLevels[i] * n));
    result.quantiles[i] = descending[descending.size() - std::max<std::size_t>(rank, 1)];
  }
  return result;
}

std::vector<std::size_t> decay_places(std::size_t elements) {
  constexpr double kShare = 0.37;  // 10^5 of ResNet-20's 269,722 in SIDCo's fig. 7a
  constexpr std::size_t kPoints = 200;
  std::vector<std::size_t> places;
  if (elements == 0) return places;
  const double last = std::ceil(kShare * static_cast<double>(elements));
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double exponent = static_cast<double>(i) / (kPoints - 1);
    const auto place = static_cast<std::size_t>(std::lround(std::pow(last, exponent)));
    if (places.empty() || place > places.back()) places.push_back(place);
  }
  return places;
}

std::vector<double> best_k_errors(std::span<const float> descending,
                                  std::span<const std::size_t> ks) {
  std::vector<double> errors(ks.size());
  double sum = 0;
  std::size_t at = descending.size();  // elements from this index on are in the sum
  for (std::size_t i = ks.size(); i-- > 0;) {
    for (; at > ks[i]; --at) {
      sum += static_cast<double>(descending[at - 1]) * static_cast<double>(descending[at - 1]);
    }
    errors[i] = std::sqrt(sum);
  }
  return errors;
}

PowerDecay fit_decay(std::span<const float> descending, std::span<const double> ratios) {
  PowerDecay decay;
  const std::vector<std::size_t> places = decay_places(descending.size());
  const std::vector<double> errors = best_k_errors(descending, places);
  std::vector<double> log_place, log_magnitude, log_k, log_error;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double magnitude = descending[places[i] - 1];
    const double log_j = std::log(static_cast<double>(places[i]));
    if (magnitude > 0) {
      log_place.push_back(log_j);
      log_magnitude.push_back(std::log(magnitude));
      decay.last = places[i];
    }
    if (errors[i] > 0) {
      log_k.push_back(log_j);
      log_error.push_back(std::log(errors[i]));
    }
  }
  const Line line = fit_line(log_place, log_magnitude);
  decay.p = -line.slope;
  decay.fit = line.r_squared;
  decay.error_p = 0.5 - fit_line(log_k, log_error).slope;
  decay.constant = kNoFit;
  for (std::size_t i = 0; i < log_place.size(); ++i) {
    const double needed = std::exp(log_magnitude[i] + decay.p * log_place[i]);
    if (!(decay.constant >= needed)) decay.constant = needed;
  }
  const std::size_t none = 0;
  const double norm = best_k_errors(descending, std::span(&none, 1)).front();
  for (const double ratio : ratios) {
    const std::size_t k = target_count(ratio, descending.size());
    decay.best_k_error.push_back(best_k_errors(descending, std::span(&k, 1)).front() / norm);
  }
  return decay;
}

double FittedDistribution::below(double magnitude) const {
  switch (kind) {
    case FittedKind::kExponential:
      return -std::expm1(-magnitude / scale);
    case FittedKind::kGamma:
      return gamma_below(shape, magnitude / scale);
    case FittedKind::kPareto: {
      const double base = 1 + shape * magnitude / scale;
      if (base <= 0) return 1;  // beyond the upper end of a negative shape
      // In the limit of shape 0 the distribution is exponential.
      return std::fabs(shape) < 1e-9 ? -std::expm1(-magnitude / scale)
                                     : -std::expm1(-std::log(base) / shape);
    }
    case FittedKind::kNormal:
      return normal_below((magnitude - location) / scale) -
             normal_below((-magnitude - location) / scale);
  }
  return kNoFit;
}

std::array<FittedDistribution, 4> fit_distributions(const GradientDistribution& moments,
                                                    std::span<const float> descending) {
  const FittedShape gamma = fit_gamma(moments.mean_magnitude, moments.mean_log);
  const FittedShape pareto = fit_pareto(moments.mean_magnitude, moments.magnitude_variance);
  std::array<FittedDistribution, 4> fits = {{
      {FittedKind::kExponential, 0, 1, moments.mean_magnitude, kNoFit},
      {FittedKind::kGamma, 0, gamma.shape, gamma.scale, kNoFit},
      {FittedKind::kPareto, 0, pareto.shape, pareto.scale, kNoFit},
      {FittedKind::kNormal, moments.mean, 1, moments.deviation, kNoFit},
  }};
  for (FittedDistribution& fit : fits) {
    if (!(fit.scale > 0) || !std::isfinite(fit.shape)) {
      fit.scale = kNoFit;
      continue;
    }
    fit.distance = kolmogorov_distance(descending, [&](double x) { return fit.below(x); });
  }
  return fits;
}

double kolmogorov_distance(std::span<const float> descending,
                           const std::function<double(double)>& below) {
  if (descending.empty()) return kNoFit;
  const auto n = static_cast<double>(descending.size());
  /// A value of the data: F at the value, and F_n at the value and just below.
  struct Point {
    std::size_t first, last;  // indices in ascending order of the elements with this value
    double f, share, share_below;
  };
  const auto ascending = [&](std::size_t i) { return descending[descending.size() - 1 - i]; };
  double distance = 0;
  const auto look = [&](std::size_t place) {
    const float value = ascending(place);
    const auto [begin, end] = std::equal_range(descending.rbegin(), descending.rend(), value);
    const auto first = static_cast<std::size_t>(begin - descending.rbegin());
    const auto behind = static_cast<std::size_t>(end - descending.rbegin());
    const Point point{first, behind - 1, below(value), static_cast<double>(behind) / n,
                      static_cast<double>(first) / n};
    distance = std::max(
        {distance, std::fabs(point.f - point.share), std::fabs(point.f - point.share_below)});
    return point;
  };
  std::vector<std::pair<Point, Point>> open = {{look(0), look(descending.size() - 1)}};
  while (!open.empty()) {
    const auto [low, high] = open.back();
    open.pop_back();
    if (low.last + 1 >= high.first) continue;
    // Between the two points F and F_n lie between their values at the points.
    const double most = std::max(high.f - low.share, high.share_below - low.f);
    if (!(most > distance)) continue;
    const Point middle = look(low.last + 1 + (high.first - low.last - 1) / 2);
    open.emplace_back(low, middle);
    open.emplace_back(middle, high);
  }
  return distance;
}

namespace {

// Statistics of a trace.

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
