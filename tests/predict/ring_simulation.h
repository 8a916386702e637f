// The rings step by step: every segment of every rank through a token bucket. Slow, and plainly
// what workloads/exchange/ring_*.cc do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "workloads/predict/closed_forms.h"

namespace thinpipe {

/// A link that has idled: saves up `credit` bytes, refilled by one byte every beta seconds.
class SimulatedLink {
 public:
  explicit SimulatedLink(const LinkFigures& figures) : figures_(figures), tokens_(figures.credit) {}

  /// When bytes that are there at `moment` have left, after all that was sent before.
  double send(double moment, double bytes) {
    const double begin = std::max(moment, free_);
    if (figures_.beta > 0)
      tokens_ = std::min(figures_.credit, tokens_ + (begin - free_) / figures_.beta);
    free_ = begin + std::max(0.0, bytes - tokens_) * figures_.beta;
    tokens_ = std::max(0.0, tokens_ - bytes);
    return free_;
  }

 private:
  LinkFigures figures_;
  double tokens_, free_ = 0;
};

/// Rank r sends `rounds` pieces to r+1: first its own, then those that came from r-1, each cut into
/// segments. @param sizes  sizes[r]: bytes of the piece that began at rank r
/// @returns when the last segment has arrived anywhere
inline double simulate_ring(const std::vector<double>& sizes, int rounds, const LinkFigures& link,
                            double segment = kRingSegment) {
  const std::size_t n = sizes.size();
  std::vector<SimulatedLink> links(n, SimulatedLink(link));
  std::vector<std::vector<double>> here(n);  // when the segments of the piece to be sent were there
  const auto cut = [&](double bytes) {
    std::vector<double> segments;
    for (double left = bytes; left > 0; left -= segment)
      segments.push_back(std::min(segment, left));
    if (segments.empty()) segments.push_back(0);
    return segments;
  };
  for (std::size_t r = 0; r < n; ++r) here[r].assign(cut(sizes[r]).size(), 0.0);
  double last = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::vector<double>> next(n);
    for (std::size_t r = 0; r < n; ++r) {
      const std::size_t origin =
          (r + static_cast<std::size_t>(rounds) * n - static_cast<std::size_t>(round)) % n;
      const std::vector<double> segments = cut(sizes[origin]);
      for (std::size_t i = 0; i < segments.size(); ++i) {
        const double arrived = links[r].send(here[r][i], segments[i]) + link.alpha;
        next[(r + 1) % n].push_back(arrived);
        last = std::max(last, arrived);
      }
    }
    here = next;
  }
  return last;
}

}  // namespace thinpipe
