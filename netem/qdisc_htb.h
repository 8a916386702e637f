// HTB with a single class: what it does differently from TBF is that no frame is too large for it.
#pragma once

#include <cstdint>

#include "netem/qdisc.h"

namespace thinpipe {

/// Minor number of the one class, to which everything goes: what HTB does not classify it does not
/// throttle.
inline constexpr std::uint16_t kHtbClass = 1;

QdiscRequest htb_request();

struct HtbClassSettings {
  std::uint64_t rate = 0;      ///< bytes/s, and the ceiling likewise
  std::uint32_t burst = 0;     ///< bytes, of rate and ceiling; HTB's default is about one frame
  std::uint32_t quantum = 0;   ///< bytes a turn, 1000 to 200000
  std::uint32_t overhead = 0;  ///< bytes charged for every packet beyond its length
};

/// The class's rates go in 64 bits; its buckets in ticks of transmit time, rounded up, which come
/// back as they are.
QdiscRequest htb_class_request(const HtbClassSettings& settings);

}  // namespace thinpipe
