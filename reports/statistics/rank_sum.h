// Two independent samples: the Hodges–Lehmann shift and the Mann–Whitney (Wilcoxon rank-sum) test.
//
// Both samples have the same distribution but for a shift. (Hollander, Wolfe & Chicken,
// Nonparametric Statistical Methods, 3rd ed., ch. 4.)
#pragma once

#include <optional>
#include <span>

#include "reports/statistics/interval.h"

namespace thinpipe {

/// The median of all differences later - earlier; of at least one value each.
double hodges_lehmann_shift(std::span<const double> earlier, std::span<const double> later);

/// The interval of the shift that goes with the test; see signed_rank_interval. Exact up to 60
/// values in all, by the normal approximation beyond. None where there are too few: 4 against 4 are
/// the fewest for 0.95.
std::optional<Interval> rank_sum_interval(std::span<const double> earlier,
                                          std::span<const double> later, double confidence);

/// The probability, were the shift no greater than `bound`, of later values as far above the
/// earlier ones as these. Small: the shift is greater. Exact up to 60 values in all, of all ways
/// to draw the later sample's ranks, equal values sharing theirs; by the normal approximation with
/// the correction for equal values beyond. 1 where a sample is empty.
double rank_sum_above(std::span<const double> earlier, std::span<const double> later, double bound);

/// The same the other way round: small where the shift is less than `bound`.
double rank_sum_below(std::span<const double> earlier, std::span<const double> later, double bound);

}  // namespace thinpipe
