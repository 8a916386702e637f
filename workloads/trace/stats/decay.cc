#include "workloads/trace/stats/decay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace thinpipe {

namespace {

constexpr double kNoDecay = std::numeric_limits<double>::quiet_NaN();

/// A straight line by least squares.
struct Line {
  double slope = kNoDecay;
  double r_squared = kNoDecay;
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
  std::size_t at = descending.size();  // elements from here on are in the sum
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
  decay.constant = kNoDecay;
  for (std::size_t i = 0; i < log_place.size(); ++i) {
    const double needed = std::exp(log_magnitude[i] + decay.p * log_place[i]);
    if (!(decay.constant >= needed)) decay.constant = needed;
  }
  const std::size_t none = 0;
  const double norm = best_k_errors(descending, std::span(&none, 1)).front();
  for (const double ratio : ratios) {
    const auto share =
        static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(descending.size())));
    const std::size_t k = std::min(std::max<std::size_t>(share, 1), descending.size());
    decay.best_k_error.push_back(best_k_errors(descending, std::span(&k, 1)).front() / norm);
  }
  return decay;
}

}  // namespace thinpipe
