// What Sattler et al. compute of positions in a random sparse vector.
#pragma once

#include "compressors/encode/golomb.h"

namespace thinpipe {

/// Their eq. 5: mean bits of a Golomb-coded distance where a share p of the elements is sent.
inline double bits_by_equation_5(double p) { return golomb_mean_bits(p, golomb_bits(p)); }

}  // namespace thinpipe
