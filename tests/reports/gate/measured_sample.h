// Measured sets made by hand.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reports/gate/measured.h"

namespace thinpipe::sample {

inline MetricSeries series(const std::string& kind, const std::string& better,
                           std::vector<std::vector<double>> launches,
                           const std::string& unit = "s") {
  return {unit, better, kind, std::move(launches)};
}

inline Measured measured(std::size_t launches) {
  Measured result;
  result.file = "made/records.jsonl";
  result.kind = kBenchKind;
  result.launches = launches;
  return result;
}

/// `launches` times of about one second, times exp(shift): what they have in common (`drift`, one
/// value a launch) and noise of their own, now and then a wild one, as on a machine that others
/// use.
inline std::vector<std::vector<double>> times(std::mt19937_64& generator,
                                              const std::vector<double>& drift, double shift,
                                              double noise) {
  std::normal_distribution<double> normal(0, noise);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<std::vector<double>> launches;
  for (const double common : drift) {
    double logarithm = common + shift + normal(generator);
    if (uniform(generator) < 0.05) logarithm += 0.5 * uniform(generator);
    launches.push_back({std::exp(logarithm)});
  }
  return launches;
}

inline std::vector<double> drift(std::mt19937_64& generator, std::size_t launches) {
  std::normal_distribution<double> normal(0, 0.1);
  std::vector<double> values(launches);
  for (double& value : values) value = normal(generator);
  return values;
}

}  // namespace thinpipe::sample
