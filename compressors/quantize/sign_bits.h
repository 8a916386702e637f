// One bit a value.
#pragma once

#include <memory>

#include "compressors/quantize/bucketed.h"

namespace thinpipe {

/// 1-bit SGD (Seide et al., 2014): decoded to the mean of the bucket's x >= 0 or of its x < 0. A
/// bucket: both means as 32-bit floats, then the bits. Of all two-valued quantisers that split at
/// 0 it has the least squared error (MQE in 3LC section 5.1).
std::unique_ptr<BucketCodec> make_two_means_bucket();

/// mean |x| times the sign (EF-signSGD, Karimireddy et al., 2019). A bucket: the mean magnitude as
/// a 32-bit float, then the bits.
std::unique_ptr<BucketCodec> make_mean_magnitude_bucket();

/// `scale` times the sign (signSGD, Bernstein et al., 2018). A bucket: the bits.
std::unique_ptr<BucketCodec> make_sign_bucket(float scale);

}  // namespace thinpipe
