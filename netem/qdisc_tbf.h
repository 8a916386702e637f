// TBF, the token bucket filter, and the plain byte queue that stands where nothing is throttled.
#pragma once

#include <cstdint>

#include "netem/qdisc.h"

namespace thinpipe {

struct TbfSettings {
  std::uint64_t rate = 0;      ///< bytes/s
  std::uint32_t burst = 0;     ///< bytes: a frame that is larger is dropped
  std::uint32_t limit = 0;     ///< bytes that may wait
  std::uint32_t overhead = 0;  ///< bytes charged for every packet beyond its length
};

/// Rates beyond 32 bits go in TCA_TBF_RATE64, the bucket in bytes in TCA_TBF_BURST: the fields that
/// libnl-route 3.7 fills hold 34 Gbit/s and whole microseconds. The kernel keeps the bucket as
/// transmit time, which comes back within two ticks (128 ns) and one millionth.
QdiscRequest tbf_request(const TbfSettings& settings);

/// bfifo: first in, first out, and dropped beyond `limit` bytes.
QdiscRequest fifo_request(std::uint32_t limit);

}  // namespace thinpipe
