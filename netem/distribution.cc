#include "netem/distribution.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/input_file.h"
#include "base/numbers.h"

namespace thinpipe {

namespace {

constexpr std::size_t kEntries = 4096;
constexpr double kMostDeviations = 32767.0 / kDistributionScale;
constexpr double kParetoShape = 3;

// By bisection: a table is made once, so it need not be fast.
double normal_quantile(double share) {
  double low = -8, high = 8;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

double pareto_quantile(double share) { return std::pow(1 - share, -1 / kParetoShape); }

// Mean 0 and deviation 1, with nothing beyond what 16 bits hold. Cutting moves both a little, so it
// is done until nothing changes.
void standardise(std::vector<double>& values) {
  constexpr int kRounds = 50;
  const auto count = static_cast<double>(values.size());
  for (int round = 0; round < kRounds; ++round) {
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double value : values) squares += (value - sum / count) * (value - sum / count);
    const double deviation = std::sqrt(squares / count);
    for (double& value : values)
      value = std::clamp((value - sum / count) / deviation, -kMostDeviations, kMostDeviations);
  }
}

std::vector<double> quantiles(const std::function<double(double)>& quantile) {
  std::vector<double> values;
  for (std::size_t i = 0; i < kEntries; ++i)
    values.push_back(quantile((static_cast<double>(i) + 0.5) / kEntries));
  return values;
}

std::vector<double> shape_of(DelayDistribution distribution) {
  if (distribution == DelayDistribution::kUniform)
    return quantiles([](double share) { return 2 * share - 1; });
  std::vector<double> normal = quantiles(normal_quantile), pareto = quantiles(pareto_quantile);
  standardise(normal);
  standardise(pareto);
  if (distribution == DelayDistribution::kNormal) return normal;
  if (distribution == DelayDistribution::kPareto) return pareto;
  for (std::size_t i = 0; i < kEntries; ++i) normal[i] = 0.25 * normal[i] + 0.75 * pareto[i];
  standardise(normal);
  return normal;
}

}  // namespace

std::vector<std::int16_t> distribution_table(DelayDistribution distribution) {
  std::vector<std::int16_t> table;
  for (const double value : shape_of(distribution))
    table.push_back(static_cast<std::int16_t>(std::lround(value * kDistributionScale)));
  return table;
}

std::vector<std::int16_t> read_distribution(const std::filesystem::path& file) {
  constexpr std::uint64_t kMaxBytes = 1 << 20;  // 16384 numbers, and as many words of comment
  std::istringstream stream(read_input(file, "a distribution's table", kMaxBytes, Pipes::kRefused));
  std::vector<std::int16_t> table;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) {
      const auto value = parse_number<std::int16_t>(word);
      if (!value)
        throw InputError(
            fmt::format("distribution {}, line {}: '{:.40}' is not a whole number from {} to {}",
                        file.string(), number, word, std::numeric_limits<std::int16_t>::min(),
                        std::numeric_limits<std::int16_t>::max()));
      if (table.size() == kDistributionMost)
        throw InputError(fmt::format("distribution {}, line {}: more than {} values", file.string(),
                                     number, kDistributionMost));
      table.push_back(*value);
    }
  }
  if (table.empty())
    throw InputError(fmt::format("distribution {}: no values (expected up to {} whole numbers)",
                                 file.string(), kDistributionMost));
  return table;
}

std::vector<std::int16_t> table_of(const Impairment& way) {
  if (way.distribution == DelayDistribution::kTable) return read_distribution(way.table);
  return distribution_table(way.distribution);
}

}  // namespace thinpipe
