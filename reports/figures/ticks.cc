// Axis ranges and ticks.
#include "reports/figures/ticks.h"

#include <algorithm>
#include <cmath>

namespace thinpipe {
namespace {

constexpr double kAir = 0.06;

double position(double value, const Range& range, bool is_log) {
  if (is_log) return std::log(value / range.low) / std::log(range.high / range.low);
  return (value - range.low) / (range.high - range.low);
}

}  // namespace

Range padded_range(const std::vector<double>& values, bool is_log) {
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (is_log) {
    const double span = std::max(std::log(*most / *least), std::log(1.5));
    const double middle = 0.5 * (std::log(*most) + std::log(*least));
    const double half = span * (0.5 + kAir);
    return {std::exp(middle - half), std::exp(middle + half)};
  }
  const double scale = std::max({std::abs(*least), std::abs(*most), 1e-12});
  const double span = std::max(*most - *least, 0.02 * scale);
  const double middle = 0.5 * (*least + *most);
  return {middle - span * (0.5 + kAir), middle + span * (0.5 + kAir)};
}

std::vector<double> linear_ticks(const Range& range, int count) {
  const double raw = (range.high - range.low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double step = power * (raw / power <= 1   ? 1
                               : raw / power <= 2 ? 2
                               : raw / power <= 5 ? 5
                                                  : 10);
  std::vector<double> ticks;
  const double tolerance = 1e-9 * step;
  for (double i = std::ceil((range.low - tolerance) / step); i * step <= range.high + tolerance;
       ++i) {
    ticks.push_back(i * step + 0.0);  // + 0.0 turns -0 into 0
  }
  return ticks;
}

std::vector<double> readable_ticks(const Range& range, int count, std::string (*format)(double)) {
  for (;; --count) {
    std::vector<double> ticks = linear_ticks(range, count);
    const auto twin = std::adjacent_find(
        ticks.begin(), ticks.end(), [&](double a, double b) { return format(a) == format(b); });
    if (twin == ticks.end() || count == 1) return ticks;
  }
}

std::vector<double> thinned(const std::vector<double>& values, const Range& range, bool is_log,
                            double closest) {
  std::vector<double> kept;
  for (const double value : values) {
    if (value < range.low || value > range.high) continue;
    const bool is_far =
        kept.empty() ||
        position(value, range, is_log) - position(kept.back(), range, is_log) >= closest;
    if (is_far) kept.push_back(value);
  }
  return kept;
}

std::vector<double> log_ticks(const Range& range, double closest) {
  const double decades = std::log10(range.high / range.low);
  if (decades < 0.5) return linear_ticks(range, 4);
  std::vector<double> ticks;
  const int last = static_cast<int>(std::floor(std::log10(range.high)));
  for (int e = static_cast<int>(std::floor(std::log10(range.low))); e <= last; ++e) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor == 1 || decades < 3) ticks.push_back(factor * std::pow(10.0, e));
    }
  }
  return thinned(ticks, range, true, closest);
}

}  // namespace thinpipe
