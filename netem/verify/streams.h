// Goodput of concurrent TCP streams on a link.
#pragma once

#include <memory>
#include <vector>

#include "netem/network.h"
#include "netem/topology/flows.h"
#include "netem/verify/machine_watch.h"

namespace thinpipe {

struct TcpStreamOptions {
  double seconds = 3;   ///< of traffic that is measured
  double settle = 0.5;  ///< s before that: slow start, and the bucket's saved credit; long links
                        ///< get more
  int windows = 6;      ///< the measured time is cut into so many
  double buffer = 0.1;  ///< s of the link's rate that a sender may have on its way
};

struct StreamFigures {
  double goodput = 0;   ///< bit/s of TCP payload, median of the windows
  double low = 0;       ///< the slowest window
  double high = 0;      ///< the fastest window
  double payload = 0;   ///< bytes that arrived in all, from the first to the last
  double acks = 0;      ///< acknowledgements without data a second that the receiver sent
  double all_acks = 0;  ///< from the first to the last
};

struct MeasuredStreams {
  std::vector<StreamFigures> streams;  ///< by flow
  Disturbance machine;
};

/// One stream for each flow, all for the same time; afterwards nothing is on its way. `link` is
/// that of the hosts: buffers and times are chosen by it.
/// @throws RunError when a stream breaks or stands still, or a stop was asked for.
MeasuredStreams run_streams(const Network& network, const LinkSpec& link,
                            const std::vector<Flow>& flows, const TcpStreamOptions& options);

/// A stream that runs for as long as this lives, for something else to be measured beside it.
class BackgroundStream {
 public:
  BackgroundStream(const Network& network, const LinkSpec& link, const Flow& flow);
  ~BackgroundStream();
  BackgroundStream(const BackgroundStream&) = delete;
  BackgroundStream& operator=(const BackgroundStream&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thinpipe
