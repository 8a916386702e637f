// What compressors keep of a trace, as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/quality/offline.h"
#include "harness/quality/table.h"

namespace thinpipe {

/// One compressor: all tensors together, then each; each step too (`steps`) where `rows` has them.
nlohmann::ordered_json quality_json(const CompressorQuality& quality, QualityRows rows);

}  // namespace thinpipe
