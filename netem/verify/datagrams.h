// Measures a link by numbered datagrams: round trips, the bufferbloat delay of a full queue, and
// frame loss with its confidence interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <thread>
#include <vector>

#include "netem/network.h"
#include "netem/topology/flows.h"
#include "netem/verify/sockets.h"

namespace thinpipe {

struct RoundTripOptions {
  int count = 100;        ///< at least 2
  double spacing = 2e-3;  ///< s from one probe to the next, without waiting for replies
  double timeout = 0.5;   ///< s after the last probe for the last reply
};

struct RoundTrips {
  double median = 0, p95 = 0, most = 0;  ///< s; 0 if all probes were lost
  int sent = 0, lost = 0;                ///< without the first probe
};

inline constexpr int kProbePayload = 64;  ///< bytes of a probe

/// Measures round trips from `flow.from` to `flow.to` and back. The first probe does not count,
/// since it finds caches cold.
/// @throws RunError when a stop was requested; SystemError of the sockets.
RoundTrips measure_round_trips(const Network& network, const Flow& flow,
                               const RoundTripOptions& options);

/// Returns the options for probes on an idle link. The probes use at most a tenth of the link's
/// rate, for up to 2 s, or longer where a slow link does not carry five probes in that time.
RoundTripOptions idle_probes(const LinkSpec& link, int count);

/// Keeps a link's queue full during its lifetime. Sends datagrams of full frames: first as many as
/// the queues hold, then at `overload` times the rate of the link's slower direction. TCP is
/// unsuitable, since it stops sending long before the queue of its own host is full.
class QueueFlood {
 public:
  /// @param link  throttled
  QueueFlood(const Network& network, const LinkSpec& link, const Flow& flow, double overload);
  QueueFlood(const QueueFlood&) = delete;  // the thread uses the object

 private:
  void run(const std::stop_token& stop);
  bool send_batch();  ///< on the next socket with buffer space; false if none has

  double bytes_per_second_;  ///< of frames
  double first_bytes_;       ///< the size of all queues and buckets
  double batch_bytes_;
  std::vector<SocketPair> pairs_;  ///< several, since one socket has at most some 100 kB in flight
  std::vector<NumberedSender> senders_;
  std::size_t turn_ = 0;
  std::jthread thread_;
};

// Loss.

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
