// Measures a link's frame loss by numbered datagrams sent below its rate. Also computes confidence
// intervals of a proportion.
#pragma once

#include <cstdint>

#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

struct ShareInterval {
  double low = 0, high = 1;
  bool holds(double value) const { return low <= value && value <= high; }
};

/// Returns the confidence interval of a proportion, for `count` successes in `trials`, with at
/// least the given confidence. Uses quantiles of the beta distribution: Clopper and Pearson, "The
/// use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26
/// (1934). `count` and `trials` need not be whole numbers, since correlated draws count as fewer
/// independent draws.
ShareInterval clopper_pearson(double count, double trials, double confidence);

struct LossFigures {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;        ///< did not arrive
  std::uint64_t duplicates = 0;  ///< arrived again
  std::uint64_t overtaken = 0;   ///< arrived after a datagram that was sent later
  double share() const {
    return sent > 0 ? static_cast<double>(lost) / static_cast<double>(sent) : 0;
  }
};

inline constexpr int kLossPayload = 64;  ///< bytes of a datagram

/// Measures the loss of a flow. Datagrams that the receiver's full socket drops do not count as
/// lost, since the link delivered them.
/// @param seconds  of sending, more on a slow link
/// @throws RunError when a stop was requested.
LossFigures measure_loss(const Network& network, const LinkSpec& link, const Flow& flow,
                         double seconds);

}  // namespace thinpipe
