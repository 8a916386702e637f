// Natural compression: powers of two.
#pragma once

#include <memory>

#include "compressors/quantize/bucketed.h"

namespace thinpipe {

/// Horvath et al., 2019, definition 1: stochastic rounding to a neighbouring power of two. A
/// bucket: an 8-bit exponent an element, then the sign bits.
std::unique_ptr<BucketCodec> make_natural_bucket();

}  // namespace thinpipe
