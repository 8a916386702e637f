// Tests by ranks, which assume no distribution, and what to believe of many tests at once.
//
// Paired: of n independent differences, each symmetric about one centre, the Hodges–Lehmann
// estimate and the Wilcoxon signed-rank test. A few wild differences, as a busy machine gives them,
// move neither the estimate nor the interval far. Unpaired: of two samples that have the same
// distribution but for a shift, the Hodges–Lehmann shift and the Mann–Whitney (Wilcoxon rank-sum)
// test. (Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3rd ed., ch. 3 and 4.)
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "reports/statistics/statistics.h"

namespace thinpipe {

/// The median of the n (n + 1) / 2 Walsh averages (d_i + d_j) / 2, i <= j; of at least one.
double hodges_lehmann(std::span<const double> differences);

/// The interval of the centre that goes with the signed-rank test: of the Walsh averages in order,
/// the ones at the test's two critical values. It holds the centre with at least `confidence`
/// (0.95), exactly by the test's distribution. None where n is too small for such confidence: 6
/// differences are the fewest for 0.95.
std::optional<Interval> signed_rank_interval(std::span<const double> differences,
                                             double confidence);

/// The probability, were the centre no greater than `bound`, of differences that lie as far above
/// it as these. Small: the centre is above. Exact: of all 2^n ways to sign the ranks that these
/// differences have, equal ones sharing theirs; those equal to `bound` are left out. 1 where none
/// are left.
double signed_rank_above(std::span<const double> differences, double bound);

/// The same the other way round: small where the centre is below `bound`.
double signed_rank_below(std::span<const double> differences, double bound);

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

/// Twice the rank of each value, in its place; the smallest has rank 1. Equal values have the mean
/// of their ranks, which twice is a whole number.
std::vector<std::size_t> doubled_ranks(std::span<const double> values);

/// The rule of Benjamini and Hochberg: which of many tests to believe so that, in the mean, at most
/// the share `rate` of those believed is wrong: the ones with p no greater than the largest p(i) <=
/// i / m * rate, p in ascending order (J. R. Stat. Soc. B 57, 1995, eq. 1). For tests that are
/// independent or positively dependent, as times of one run are.
std::vector<bool> benjamini_hochberg(std::span<const double> p, double rate);

}  // namespace thinpipe
