#include "reports/statistics/mean_interval.h"

#include <array>
#include <cmath>

#include "reports/statistics/quantile.h"

namespace thinpipe {

namespace {

// 97.5 % quantiles of Student's t, of 1 to 30 degrees of freedom (any table; R: qt(0.975, 1:30)).
constexpr std::array<double, 30> kStudent = {
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004,
    2.262157,  2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905,
    2.109816,  2.100922, 2.093024, 2.085963, 2.079614, 2.073873, 2.068658, 2.063899,
    2.059539,  2.055529, 2.051831, 2.048407, 2.045230, 2.042272};

// Beyond: Cornish and Fisher's first terms around the normal quantile; off by less than 1e-4.
double student(std::size_t freedom) {
  if (freedom <= kStudent.size()) return kStudent[freedom - 1];
  constexpr double z = 1.959964;
  const double n = static_cast<double>(freedom);
  return z + (z * z * z + z) / (4 * n) +
         (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

}  // namespace

Estimate mean_of_samples(std::span<const double> samples) {
  Estimate estimate{.value = mean(samples), .interval = std::nullopt};
  if (samples.size() < kFewestForMean) return estimate;
  double squares = 0;
  for (const double sample : samples)
    squares += (sample - estimate.value) * (sample - estimate.value);
  const double n = static_cast<double>(samples.size());
  const double half = student(samples.size() - 1) * std::sqrt(squares / (n - 1) / n);
  estimate.interval = Interval{estimate.value - half, estimate.value + half};
  return estimate;
}

}  // namespace thinpipe
