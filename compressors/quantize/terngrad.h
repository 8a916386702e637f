// TernGrad: stochastic ternary values of two bits.
#pragma once

#include <memory>

#include "compressors/quantize/bucketed.h"

namespace thinpipe {

struct TernGradOptions {
  double sigmas = 2.5;       ///< magnitudes are clipped at so many standard deviations; 0: not
  bool shares_scale = true;  ///< all workers use the greatest of their scales
};

/// Wen et al., 2017, eqs. 1 to 3 and 6 (clipping), section 4.3 (shared scaler): +-s with
/// probability |c| / s, s being the greatest magnitude after clipping. A bucket: s as a 32-bit
/// float, then codes of 2 bits.
std::unique_ptr<BucketCodec> make_terngrad_bucket(const TernGradOptions& options);

}  // namespace thinpipe
