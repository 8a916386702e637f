// Keeps a link's queue full, for something else to be measured meanwhile.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "netem/network.h"
#include "netem/topology/flows.h"
#include "netem/verify/numbered.h"

namespace thinpipe {

/// Datagrams of full frames: first as many as the queues hold, then, until it is destroyed,
/// `overload` times what the link's slower direction takes away. TCP would not do: it stops sending
/// long before the queue of its own host is full.
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
