// QSGD: stochastic levels of the L2 norm.
#pragma once

#include <cstddef>
#include <memory>

#include "compressors/quantize/bucketed.h"

namespace thinpipe {

/// Alistarh et al., 2017, section 3.1: |c| = norm * l / s + ... is rounded to one of the levels
/// around it, s = 2^(bits - 1) - 1. A bucket: the norm as a 32-bit float, then codes of `bits`.
std::unique_ptr<BucketCodec> make_qsgd_bucket(int bits);

/// The same levels, those that are not 0 as Elias codes of their distance, sign and level (QSGD
/// appendix A.2). `largest` is the greatest bucket, whose codes are held.
std::unique_ptr<BucketCodec> make_qsgd_elias_bucket(int bits, std::size_t largest);

}  // namespace thinpipe
