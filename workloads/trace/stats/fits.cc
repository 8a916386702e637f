#include "workloads/trace/stats/fits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "compressors/select/distributions.h"
#include "compressors/select/sidco_fit.h"

namespace thinpipe {

namespace {

constexpr double kNoFit = std::numeric_limits<double>::quiet_NaN();

}  // namespace

double FittedDistribution::below(double magnitude) const {
  switch (kind) {
    case FittedKind::kExponential:
      return -std::expm1(-magnitude / scale);
    case FittedKind::kGamma:
      return gamma_below(shape, magnitude / scale);
    case FittedKind::kPareto: {
      const double base = 1 + shape * magnitude / scale;
      if (base <= 0) return 1;  // beyond the end that a negative shape gives it
      // The limit for a shape of 0 is exponential.
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
  /// A value of the data: F there, and F_n there and just below.
  struct Point {
    std::size_t first, last;  // places in ascending order of the elements that have this value
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
    // Between the two, F lies between its values there and F_n between these shares.
    const double most = std::max(high.f - low.share, high.share_below - low.f);
    if (!(most > distance)) continue;
    const Point middle = look(low.last + 1 + (high.first - low.last - 1) / 2);
    open.emplace_back(low, middle);
    open.emplace_back(middle, high);
  }
  return distance;
}

}  // namespace thinpipe
