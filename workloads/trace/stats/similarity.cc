#include "workloads/trace/stats/similarity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace thinpipe {

namespace {

float magnitude_of(float value) { return std::isfinite(value) ? std::fabs(value) : 0; }

}  // namespace

std::vector<std::size_t> top_k_places(std::span<const float> values, std::size_t k) {
  k = std::min(k, values.size());
  if (k == 0) return {};
  std::vector<float> magnitudes(values.size());
  std::transform(values.begin(), values.end(), magnitudes.begin(), magnitude_of);
  const auto kth = magnitudes.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(magnitudes.begin(), kth, magnitudes.end(), std::greater<>());
  const float least = *kth;
  // So many of the least are among the k; the others are larger.
  auto equals = k - static_cast<std::size_t>(
                        std::count_if(magnitudes.begin(), kth, [&](float m) { return m > least; }));
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < values.size() && places.size() < k; ++i) {
    const float magnitude = magnitude_of(values[i]);
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

}  // namespace thinpipe
