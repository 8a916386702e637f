#include "harness/predict/codec_profile.h"

#include <algorithm>
#include <numeric>

namespace thinpipe {

double ProfiledExchange::mean(int ranks) const {
  const auto known = std::min<std::ptrdiff_t>(std::ssize(bytes), std::max(1, ranks));
  if (known == 0) return 0;
  return std::accumulate(bytes.begin(), bytes.begin() + known, 0.0) / static_cast<double>(known);
}

}  // namespace thinpipe
