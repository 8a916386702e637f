#include "netem/correlated_draws.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "base/error.h"

namespace thinpipe {

namespace {

constexpr double kSmallest = 1e-16;  // what doubles add to 1
constexpr int kMostTerms = 1'000'000;

// sin(pi x) / (pi x)
double sinc(double x) {
  const double angle = std::numbers::pi * x;
  return angle == 0 ? 1 : std::sin(angle) / angle;
}

// A uniform u_k of weight w has the characteristic function e^{i pi m w} sinc(m w) at 2 pi m. The
// weights sum to 1, so the phases make e^{i pi m} = (-1)^m, and
//   F(x) = x + sum over m of (-1)^m prod_k sinc(m w_k) sin(2 pi m x) / (pi m).
std::vector<double> coefficients(double correlation) {
  std::vector<double> found;
  for (int m = 1; m <= kMostTerms; ++m) {
    double product = m % 2 == 0 ? 1 : -1, bound = 1;
    for (double weight = 1 - correlation;; weight *= correlation) {
      const double at = m * weight;
      if (at < 1e-9 || bound < kSmallest) break;
      product *= sinc(at);
      bound *= std::min(1.0, 1 / (std::numbers::pi * at));
    }
    found.push_back(product / (std::numbers::pi * m));
    if (bound / m < kSmallest) break;
  }
  return found;
}

double share_at(double threshold, const std::vector<double>& series) {
  double share = threshold;
  for (std::size_t i = 0; i < series.size(); ++i)
    share += series[i] * std::sin(2 * std::numbers::pi * static_cast<double>(i + 1) * threshold);
  return std::clamp(share, 0.0, 1.0);
}

double search(double share, const std::vector<double>& series) {
  double low = 0, high = 1;
  constexpr int kHalvings = 40;  // netem has 32 bits
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (share_at(middle, series) < share ? low : high) = middle;
  }
  return high;
}

}  // namespace

double correlated_share(double threshold, double correlation) {
  return correlation == 0 ? threshold : share_at(threshold, coefficients(correlation));
}

double correlated_threshold(double share, double correlation) {
  if (correlation >= 1)
    throw InputError("a correlation of 100 % lets the first draw decide for all; less is possible");
  if (correlation == 0 || share <= 0 || share >= 1) return share;
  // Every host of a star asks for the same few.
  thread_local std::map<std::pair<double, double>, double> known;
  const auto [entry, fresh] = known.try_emplace({share, correlation}, 0.0);
  if (fresh) entry->second = search(share, coefficients(correlation));
  return entry->second;
}

}  // namespace thinpipe
