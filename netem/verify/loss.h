// What share of frames a link loses: datagrams sent below its rate, counted by number.
#pragma once

#include <cstdint>

#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

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

/// What a full socket dropped is not lost: the link delivered it.
/// @throws RunError when a stop was asked for.
LossFigures measure_loss(const Network& network, const LinkSpec& link, const Flow& flow,
                         const LossOptions& options);

}  // namespace thinpipe
