#include "workloads/predict/closed_forms.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace thinpipe {
namespace {

/// Returns the seconds of `rounds` rounds in which every rank forwards `chunk` bytes, each segment
/// on arrival, over links that were idle before. The result is the greater of
///   the link's time    alpha + (rounds * chunk - credit) beta and
///   the chain's time   rounds * alpha + (rounds - 1) (segment - credit) beta
///                      + (chunk - credit) beta,
/// where differences below 0 count as 0. Every path through the rounds is a mixture of the two, and
/// its time is convex in the fraction of the mixture.
double ring_chain_time(double rounds, double chunk, double segment, const LinkFigures& link) {
  if (rounds <= 0) return 0;
  const double busy = link.alpha + link.seconds(rounds * chunk);
  const double chain = rounds * link.alpha + (rounds - 1) * link.seconds(std::min(segment, chunk)) +
                       link.seconds(chunk);
  return std::max(busy, chain);
}

}  // namespace

double ring_all_reduce_time(int ranks, double bytes, const LinkFigures& link) {
  return ring_chain_time(2.0 * (ranks - 1), bytes / ranks, kRingSegment, link);
}

double ring_all_gather_time(int ranks, double bytes, const LinkFigures& link) {
  return ring_chain_time(ranks - 1.0, bytes, kRingSegment, link);
}

double ring_all_gather_time(std::span<const double> bytes, const LinkFigures& link) {
  const std::size_t n = bytes.size();
  if (n < 2) return 0;
  // Messages cross a link in the order of descending ranks. The prefix sums go round the ring
  // twice, so that they also cover windows that wrap round.
  std::vector<double> sum(2 * n + 1, 0.0);
  for (std::size_t i = 0; i < 2 * n; ++i) sum[i + 1] = sum[i] + bytes[n - 1 - i % n];
  double longest = 0;
  for (std::size_t window = 1; window < n; ++window) {
    const auto jumps = static_cast<double>(n - 1 - window);
    for (std::size_t begin = 0; begin < n; ++begin) {
      double segment = 0;  // the longest in the window
      for (std::size_t i = begin; i < begin + window && segment < kRingSegment; ++i)
        segment = std::max(segment, std::min(kRingSegment, bytes[n - 1 - i % n]));
      longest = std::max(longest, jumps * link.seconds(segment) + (jumps + 1) * link.alpha +
                                      link.seconds(sum[begin + window] - sum[begin]));
    }
  }
  return longest;
}

double worst_density(double density, double summands) { return std::min(1.0, density * summands); }

double independent_density(double density, double summands) {
  if (density >= 1) return summands > 0 ? 1 : 0;
  // For small densities 1 - (1 - density)^n would lose all digits.
  return -std::expm1(summands * std::log1p(-density));
}

double sparse_doubling_time(int ranks, double bytes, double density, double dense,
                            Overlapping places, const LinkFigures& link) {
  if (density <= 0) return 0;
  double alpha = 0, carried = 0;
  for (double summed = 1; summed < ranks; summed *= 2) {
    const double filled = places == Overlapping::kNone ? worst_density(density, summed)
                                                       : independent_density(density, summed);
    carried += std::min(dense, bytes * filled / density);
    alpha += link.alpha;
  }
  return alpha + link.seconds(carried);
}

}  // namespace thinpipe
