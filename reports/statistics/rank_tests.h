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

/// Returns a confidence interval of the centre of the differences, by the signed-rank test. Its
/// ends are the ordered Walsh averages at the test's two critical values. By the test's exact
/// distribution, the interval contains the centre with a probability of at least `confidence`.
/// Returns nothing if there are too few differences: a confidence of 0.95 needs at least 6.
std::optional<Interval> signed_rank_interval(std::span<const double> differences,
                                             double confidence);

/// Returns the one-sided p-value of the signed-rank test; it is small if the centre of the
/// differences is above `bound`. The p-value is exact, over all 2^n signs of the ranks. Equal
/// magnitudes share their mean rank. Differences equal to `bound` are left out; returns 1 if none
/// remain.
double signed_rank_above(std::span<const double> differences, double bound);

/// Returns the p-value for a centre below `bound`.
double signed_rank_below(std::span<const double> differences, double bound);

/// Returns the median of all differences later - earlier, of at least one value each.
double hodges_lehmann_shift(std::span<const double> earlier, std::span<const double> later);

/// Returns a confidence interval of the shift between the samples by the rank-sum test, as
/// signed_rank_interval() does for one centre. The interval is exact up to 60 values in total;
/// beyond, it uses the normal approximation. Returns nothing for too few values: with samples of
/// equal size, a confidence of 0.95 needs at least 4 values in each.
std::optional<Interval> rank_sum_interval(std::span<const double> earlier,
                                          std::span<const double> later, double confidence);

/// Returns the one-sided p-value of the rank-sum test; it is small if the shift from `earlier` to
/// `later` is above `bound`. Up to 60 values in total, the p-value is exact, over all draws of the
/// later sample's ranks. Beyond, it uses the normal approximation with the correction for ties.
/// Equal values share their mean rank. Returns 1 if a sample is empty.
double rank_sum_above(std::span<const double> earlier, std::span<const double> later, double bound);

/// Returns the p-value for a shift below `bound`.
double rank_sum_below(std::span<const double> earlier, std::span<const double> later, double bound);

/// Returns twice the rank of each value, in the order of `values`; the smallest has rank 1. Equal
/// values have the mean of their ranks, which is a multiple of 1/2.
std::vector<std::size_t> doubled_ranks(std::span<const double> values);

/// Returns for each of m tests whether it is a discovery by Benjamini and Hochberg's procedure at
/// the false discovery rate `rate`. With the p-values in ascending order, the limit is the largest
/// p(i) <= i / m * rate (J. R. Stat. Soc. B 57, 1995, eq. 1). Tests with p up to this limit are
/// discoveries. The procedure is valid for tests that are independent or positively dependent, as
/// times of one run are.
std::vector<bool> benjamini_hochberg(std::span<const double> p, double rate);

}  // namespace thinpipe
