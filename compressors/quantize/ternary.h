// 3LC's quantiser: three values scaled by the greatest magnitude.
#pragma once

#include <cstddef>
#include <memory>

#include "compressors/quantize/quantizer.h"

namespace thinpipe {

struct TernaryOptions {
  float sparsity = 1;    ///< s in [1, 2): the scale is s * max |c|
  bool zero_run = true;  ///< zero-run encoding after the quartic one
};

/// Payload: the scale as a 32-bit float, then quartic bytes, zero-run encoded if asked for.
std::unique_ptr<Quantizer> make_ternary_quantizer(std::size_t elements,
                                                  const TernaryOptions& options);

}  // namespace thinpipe
