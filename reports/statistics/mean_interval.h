// The mean of few samples and its 95 % interval.
#pragma once

#include <span>

#include "reports/statistics/interval.h"

namespace thinpipe {

/// Below this many samples there is no interval: of two, Student's is 12.7 standard errors wide.
inline constexpr std::size_t kFewestForMean = 3;

/// The mean of at least one sample with Student's interval, mean +- t s / sqrt(n) (t of n - 1
/// degrees of freedom, s with n - 1), for samples of about a normal distribution: the outcomes of a
/// training with several seeds.
Estimate mean_of_samples(std::span<const double> samples);

}  // namespace thinpipe
