// 16-bit floats.
#pragma once

#include <memory>

#include "compressors/encode/half.h"
#include "compressors/quantize/bucketed.h"

namespace thinpipe {

/// Each element to the nearest 16-bit float, two bytes each.
std::unique_ptr<BucketCodec> make_half_bucket(HalfFormat format);

}  // namespace thinpipe
