// A qdisc that is open, or shut altogether; and that cuts packets up.
#pragma once

#include <cstdint>

#include "netem/qdisc.h"

namespace thinpipe {

struct GateSettings {
  bool open = true;
  std::uint32_t cut = 0;    ///< bytes: larger GSO packets are cut into frames as they come
  std::uint32_t limit = 0;  ///< bytes that may wait
};

/// A TBF. Open, its rate is no throttle. Shut, it takes every packet for larger than its bucket
/// (`mpu`), so that none ever leaves; it looks again every millisecond, so late does it open.
/// (`mpu` has had this effect since Linux 5.17.)
QdiscRequest gate_request(const GateSettings& settings);

/// @throws RunError on a kernel in which a shut gate would let frames through.
void require_gate();

}  // namespace thinpipe
