// Kolmogorov-Smirnov distances, and the families' distribution functions by the standard library.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "workloads/synthetic/magnitudes.h"

namespace thinpipe {

/// P(|x| > t) of the families that have a closed form: gamma for the shapes 0.5 and 1, student for
/// 1 and 2 degrees of freedom.
inline double exceedance(const std::string& family, const FamilyParameters& parameters, double t) {
  constexpr double kPi = 3.14159265358979323846;
  const double values = 1 - parameters.zeros;
  if (family == "laplace") return values * std::exp(-t);
  if (family == "gpareto")
    return values * std::pow(1 + parameters.shape * t, -1 / parameters.shape);
  if (family == "gamma" && parameters.shape == 0.5) return values * std::erfc(std::sqrt(t));
  if (family == "gamma" && parameters.shape == 1) return values * std::exp(-t);
  if (family == "normal" || family == "bernoulli-gaussian")
    return values * std::erfc(t / std::sqrt(2.0));
  if (family == "student" && parameters.dof == 1) return values * (2 / kPi) * std::atan2(1, t);
  if (family == "student" && parameters.dof == 2)
    return values * 2 / (std::sqrt(2 + t * t) * (std::sqrt(2 + t * t) + t));
  return NAN;
}

/// Families with a closed form, as arguments of tests.
struct ClosedForm {
  std::string family;
  FamilyParameters parameters;
};

inline std::vector<ClosedForm> closed_forms() {
  return {{"laplace", {}},
          {"gpareto", {.shape = 0.4}},
          {"gamma", {.shape = 0.5}},
          {"gamma", {.shape = 1}},
          {"normal", {}},
          {"student", {.dof = 1}},
          {"student", {.dof = 2}},
          {"bernoulli-gaussian", {.zeros = 0.9}},
          {"laplace", {.zeros = 0.25}}};
}

/// max |F_n - F| of the magnitudes of a sample.
inline double ks_of_magnitudes(std::span<const float> sample, const ClosedForm& form) {
  std::vector<double> sorted;
  for (const float value : sample) sorted.push_back(std::fabs(static_cast<double>(value)));
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  double worst = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double below = 1 - exceedance(form.family, form.parameters, sorted[i]);
    const auto place = static_cast<double>(i);
    if (i + 1 < sorted.size() && sorted[i] == sorted[i + 1]) continue;  // F_n jumps over them
    worst = std::max(worst, std::fabs(below - (place + 1) / n));
    if (sorted[i] > 0) worst = std::max(worst, below - place / n);  // at 0 F may jump, too
  }
  return worst;
}

/// max |F_n - G_m| of two samples.
inline double ks_of_two(std::vector<float> a, std::vector<float> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  double worst = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const float at = std::min(a[i], b[j]);
    while (i < a.size() && a[i] <= at) ++i;
    while (j < b.size() && b[j] <= at) ++j;
    worst = std::max(worst, std::fabs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                      static_cast<double>(j) / static_cast<double>(b.size())));
  }
  return worst;
}

/// Returns the bound that the distance of n draws from their own distribution exceeds with a
/// probability of 1e-4 (Kolmogorov's asymptotic law: 2 exp(-2 d^2 n)).
inline double ks_limit(std::size_t n) { return 2.23 / std::sqrt(static_cast<double>(n)); }

inline double correlation(std::span<const float> a, std::span<const float> b) {
  double sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0;
  const auto n = static_cast<double>(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    sum_a += x;
    sum_b += y;
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  return (ab - sum_a * sum_b / n) / std::sqrt((aa - sum_a * sum_a / n) * (bb - sum_b * sum_b / n));
}

}  // namespace thinpipe
