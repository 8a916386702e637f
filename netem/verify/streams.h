// Measures a link: the goodput of concurrent TCP streams, and what iperf3 and ping measure, if
// installed, as independent references.
#pragma once

#include <optional>
#include <string>
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

/// A tool's result, or the reason for a missing one.
struct ToolFigure {
  std::string tool;             ///< "iperf3", "ping", "busybox ping"
  std::optional<double> value;  ///< bit/s or s
  std::string trouble;          ///< the reason, if `value` is missing
};

/// Returns the TCP goodput in bit/s at iperf3's receiver over `seconds` s (rounded up to whole
/// seconds), after one second that does not count. @throws RunError when a stop was requested.
ToolFigure iperf3_goodput(const Network& network, const Flow& flow, double seconds);

/// Returns ping's median RTT in s of `count` echoes. @throws RunError when a stop was requested.
ToolFigure ping_round_trip(const Network& network, const Flow& flow, int count, double timeout);

/// Parse the tools' output for the two functions above.
/// @throws RunError for unexpected output.
double goodput_of_iperf3(const std::string& json);
double round_trip_of_ping(const std::string& text);

}  // namespace thinpipe
