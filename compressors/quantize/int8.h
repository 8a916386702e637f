// 255 equal levels.
#pragma once

#include <memory>

#include "compressors/quantize/bucketed.h"

namespace thinpipe {

/// The "8-bit int" of 3LC section 5.1: the greatest magnitude is 127 steps. A bucket: the step as
/// a 32-bit float, then one signed byte an element.
std::unique_ptr<BucketCodec> make_int8_bucket();

}  // namespace thinpipe
