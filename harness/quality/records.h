// What compressors keep of a trace, as docs/records.md lays it down.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/quality/offline.h"

namespace thinpipe {

/// A record of all tensors taken together, `tensor` being `*`, then one a tensor.
std::vector<nlohmann::json> quality_points(const CompressorQuality& quality);

}  // namespace thinpipe
