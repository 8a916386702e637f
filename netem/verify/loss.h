// The share of frames that a link loses: datagrams sent below its rate, counted by number; and how
// sure one can be of a share after counting.
#pragma once

#include <cstdint>

#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

struct ShareInterval {
  double low = 0, high = 1;
  bool holds(double value) const { return low <= value && value <= high; }
};

/// The share of successes of which `count` among `trials` were seen, with at least the given
/// confidence: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the
/// case of the binomial", Biometrika 26 (1934), by quantiles of the beta distribution. Neither
/// number need be whole: of draws that come in company fewer count.
ShareInterval clopper_pearson(double count, double trials, double confidence);

struct LossOptions {
  double seconds = 1;        ///< of sending
  double share = 0.5;        ///< of the rate that the train takes
  double most_rate = 12000;  ///< datagrams a second
  int fewest = 100;          ///< datagrams, however long that takes
};

struct LossFigures {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;        ///< never came
  std::uint64_t duplicates = 0;  ///< came again
  std::uint64_t overtaken = 0;   ///< came after one that was sent later
  double share() const {
    return sent > 0 ? static_cast<double>(lost) / static_cast<double>(sent) : 0;
  }
};

inline constexpr int kLossPayload = 64;  ///< bytes of a datagram

/// Datagrams that a full socket dropped are not lost: the link delivered them.
/// @throws RunError when a stop was asked for.
LossFigures measure_loss(const Network& network, const LinkSpec& link, const Flow& flow,
                         const LossOptions& options);

}  // namespace thinpipe
