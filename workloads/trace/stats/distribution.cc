#include "workloads/trace/stats/distribution.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "compressors/methods/sidco.h"
#include "compressors/select/distributions.h"
#include "compressors/select/selector.h"

namespace thinpipe {

namespace {

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

}  // namespace thinpipe
