// The share of elements to send, which may change while training warms up.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace thinpipe {

/// k = max(ceil(ratio * d), 1), at most d. `ratio` is meant as the decimal number that was
/// written: 0.07 of 100 is 7, although 0.07 * 100 exceeds 7 in doubles.
inline std::size_t target_count(double ratio, std::size_t elements) {
  if (elements == 0) return 0;
  const double exact = ratio * static_cast<double>(elements);
  const auto k = static_cast<std::size_t>(std::ceil(exact * (1 - 1e-12)));
  return std::clamp<std::size_t>(k, 1, elements);
}

/// One ratio per epoch of the warm-up, then the final one (DGC section 4.1).
struct RatioSchedule {
  double ratio = 0.001;
  std::vector<double> warmup = {};

  double at(double epoch) const {
    if (!(epoch >= 0)) epoch = 0;
    return epoch < static_cast<double>(warmup.size()) ? warmup[static_cast<std::size_t>(epoch)]
                                                      : ratio;
  }
  double greatest() const {
    return warmup.empty() ? ratio
                          : std::max(ratio, *std::max_element(warmup.begin(), warmup.end()));
  }
};

}  // namespace thinpipe
