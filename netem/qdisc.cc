#include "netem/qdisc.h"

#include <algorithm>
#include <cmath>

namespace thinpipe {

std::uint32_t transmit_ticks(double bytes, double rate) {
  const double ticks = std::ceil(bytes * 1e9 / rate / kTickNanoseconds);
  return static_cast<std::uint32_t>(std::min(ticks, static_cast<double>(UINT32_MAX)));
}

std::uint64_t bytes_per_second(double bits_per_second) {
  return static_cast<std::uint64_t>(std::llround(bits_per_second / 8));
}

}  // namespace thinpipe
