// Paired comparisons: the Hodges–Lehmann estimate and the Wilcoxon signed-rank test.
//
// Of n independent differences, each symmetric about one centre. No distribution is assumed beyond
// that, and a few wild differences, as a busy machine gives them, move neither the estimate nor the
// interval far. (Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3rd ed., ch. 3.)
#pragma once

#include <optional>
#include <span>

#include "reports/statistics/interval.h"

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

}  // namespace thinpipe
