// Many tests at once: the rule of Benjamini and Hochberg.
#pragma once

#include <span>
#include <vector>

namespace thinpipe {

/// Which of many tests to believe so that, in the mean, at most the share `rate` of those believed
/// is wrong: the ones with p no greater than the largest p(i) <= i / m * rate, p in ascending order
/// (J. R. Stat. Soc. B 57, 1995, eq. 1). For tests that are independent or positively dependent, as
/// times of one run are.
std::vector<bool> benjamini_hochberg(std::span<const double> p, double rate);

}  // namespace thinpipe
