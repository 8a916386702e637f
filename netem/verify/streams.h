// Measures the goodput of concurrent TCP streams on a link.
#pragma once

#include <thread>
#include <vector>

#include "netem/network.h"
#include "netem/topology/flows.h"
#include "netem/verify/machine_watch.h"
#include "netem/verify/sockets.h"

namespace thinpipe {

struct TcpStreamOptions {
  double seconds = 3;   ///< of measured traffic
  double settle = 0.5;  ///< s before the measurement: slow start, and the bucket's initial tokens;
                        ///< more on long links
  int windows = 6;      ///< number of windows of the measurement
  double buffer = 0.1;  ///< s of the link's rate that a sender may have in flight
};

struct StreamFigures {
  double goodput = 0;   ///< bit/s of TCP payload, median of the windows
  double low = 0;       ///< the slowest window
  double high = 0;      ///< the fastest window
  double payload = 0;   ///< bytes of payload that arrived in total
  double acks = 0;      ///< pure ACKs per s that the receiver sent
  double all_acks = 0;  ///< pure ACKs that the receiver sent in total
};

struct MeasuredStreams {
  std::vector<StreamFigures> streams;  ///< by flow
  Disturbance machine;
};

/// Runs one stream for each flow at the same time. Afterwards nothing is in flight.
/// @param link  the hosts' link, which determines buffers and times
/// @throws RunError when a stream breaks or stalls, or a stop was requested.
MeasuredStreams run_streams(const Network& network, const LinkSpec& link,
                            const std::vector<Flow>& flows, const TcpStreamOptions& options);

/// A stream that runs during the object's lifetime, as load for another measurement.
class BackgroundStream {
 public:
  BackgroundStream(const Network& network, const LinkSpec& link, const Flow& flow);
  BackgroundStream(const BackgroundStream&) = delete;  // the threads use the object

 private:
  SocketPair pair_;
  std::jthread receiver_;  ///< ends after sender_
  std::jthread sender_;
};

}  // namespace thinpipe
