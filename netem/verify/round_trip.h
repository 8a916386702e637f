// Measures the RTT of datagrams. Also keeps a link's queue full meanwhile, for bufferbloat delay.
#pragma once

#include <cstddef>
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

}  // namespace thinpipe
