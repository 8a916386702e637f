#include "reports/statistics/false_discovery.h"

#include <algorithm>

namespace thinpipe {

std::vector<bool> benjamini_hochberg(std::span<const double> p, double rate) {
  std::vector<double> sorted(p.begin(), p.end());
  std::sort(sorted.begin(), sorted.end());
  double largest = -1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double line = static_cast<double>(i + 1) / static_cast<double>(sorted.size()) * rate;
    if (sorted[i] <= line) largest = sorted[i];
  }
  std::vector<bool> believed(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) believed[i] = p[i] <= largest;
  return believed;
}

}  // namespace thinpipe
