// How long a datagram takes there and back; and a link's queue kept full meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "netem/network.h"
#include "netem/topology/flows.h"
#include "netem/verify/sockets.h"

namespace thinpipe {

struct RoundTripOptions {
  int count = 100;        ///< at least 2
  double spacing = 2e-3;  ///< s from one probe to the next; answers are not waited for
  double patience = 0.5;  ///< s after the last probe for the last answer
};

struct RoundTrips {
  double median = 0, p95 = 0, most = 0;  ///< s; 0 when none came back
  int sent = 0, lost = 0;                ///< of those that count
};

inline constexpr int kProbePayload = 64;  ///< bytes of a probe

/// From `flow.from` to `flow.to` and back. The first probe, which finds caches cold, does not
/// count.
/// @throws RunError when a stop was asked for; SystemError of the sockets.
RoundTrips measure_round_trips(const Network& network, const Flow& flow,
                               const RoundTripOptions& options);

/// Probes for an idle link: they take a tenth of its rate at most, for a second or so.
RoundTripOptions idle_probes(const LinkSpec& link, int count);

/// Keeps a link's queue full, for something else to be measured meanwhile. Datagrams of full
/// frames: first as many as the queues hold, then, until it is destroyed, `overload` times what the
/// link's slower direction takes away. TCP would not do: it stops sending long before the queue of
/// its own host is full.
class QueueFlood {
 public:
  /// @param link  throttled
  QueueFlood(const Network& network, const LinkSpec& link, const Flow& flow, double overload);
  ~QueueFlood();
  QueueFlood(const QueueFlood&) = delete;
  QueueFlood& operator=(const QueueFlood&) = delete;

 private:
  void run();
  bool send_piece();  ///< on the next socket that has room

  double bytes_per_second_;  ///< of frames
  double first_bytes_;       ///< all queues together
  double piece_bytes_;
  std::vector<SocketPair> pairs_;  ///< one alone may not have more than some 100 kB on its way
  std::vector<NumberedSender> senders_;
  std::size_t turn_ = 0;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace thinpipe
