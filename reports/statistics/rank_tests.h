// Rank tests, which assume no distribution, and the control of many tests at once.
//
// Paired: the Hodges–Lehmann estimate and the Wilcoxon signed-rank test, for n independent
// differences that are symmetric about one centre. A few outliers, as on a busy machine, move
// neither the estimate nor the interval far. Unpaired: the Hodges–Lehmann shift and the
// Mann–Whitney (Wilcoxon rank-sum) test, for two samples whose distributions differ by a shift.
// (Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3rd ed., ch. 3 and 4.)
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "reports/statistics/statistics.h"

namespace thinpipe {

/// Returns the median of the n (n + 1) / 2 Walsh averages (d_i + d_j) / 2, i <= j; n >= 1.
double hodges_lehmann(std::span<const double> differences);

/// Returns the interval of the centre by the signed-rank test: the ordered Walsh averages at the
/// test's two critical values. It holds the centre with at least `confidence` (0.95), by the test's
/// exact distribution. Nothing where n is too small: 0.95 takes at least 6 differences.
std::optional<Interval> signed_rank_interval(std::span<const double> differences,
                                             double confidence);

/// Returns the p-value for a centre above `bound`: small where the centre is above. Exact, over all
/// 2^n signs of the differences' ranks; equal magnitudes share their mean rank. Differences equal
/// to `bound` are left out; 1 where none remain.
double signed_rank_above(std::span<const double> differences, double bound);

/// Returns the p-value for a centre below `bound`.
double signed_rank_below(std::span<const double> differences, double bound);

/// Returns the median of all differences later - earlier, of at least one value each.
double hodges_lehmann_shift(std::span<const double> earlier, std::span<const double> later);

/// Returns the interval of the shift by the rank-sum test, as signed_rank_interval(). Exact up to
/// 60 values in total, by the normal approximation beyond. Nothing for too few values: 0.95 takes
/// at least 4 on each side.
std::optional<Interval> rank_sum_interval(std::span<const double> earlier,
                                          std::span<const double> later, double confidence);

/// Returns the p-value for a shift above `bound`: small where the shift is greater. Exact up to 60
/// values in total, over all draws of the later sample's ranks; equal values share their mean rank.
/// Beyond, by the normal approximation with the correction for ties. 1 where a sample is empty.
double rank_sum_above(std::span<const double> earlier, std::span<const double> later, double bound);

/// Returns the p-value for a shift below `bound`.
double rank_sum_below(std::span<const double> earlier, std::span<const double> later, double bound);

/// Returns twice the rank of each value, in the order of `values`; the smallest has rank 1. Equal
/// values have the mean of their ranks, which is a multiple of 1/2.
std::vector<std::size_t> doubled_ranks(std::span<const double> values);

/// Returns the discoveries of Benjamini and Hochberg's procedure at the false discovery rate
/// `rate`: the tests with p no greater than the largest p(i) <= i / m * rate, p in ascending order
/// (J. R. Stat. Soc. B 57, 1995, eq. 1). Valid for tests that are independent or positively
/// dependent, as times of one run are.
std::vector<bool> benjamini_hochberg(std::span<const double> p, double rate);

}  // namespace thinpipe
