// A link as JSON, for records and programs: rates in bit/s, sizes in bytes, times in seconds,
// shares in 0..1.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "netem/link_spec.h"

namespace thinpipe {

/// {"text", "rate", "delay", "mtu", "place", "seed"?, "up": {...}, "down": {...}}; of a direction
/// without a rate, `rate` is null; impairments that never happen are left out.
nlohmann::ordered_json link_json(const LinkSpec& link);

}  // namespace thinpipe
