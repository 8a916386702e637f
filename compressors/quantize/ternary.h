// Quantisers of three values scaled by the greatest magnitude: 3LC's and a stochastic one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "compressors/quantize/quantizer.h"

namespace thinpipe {

struct TernaryOptions {
  float sparsity = 1;    ///< s in [1, 2): the scale is s * max |c|
  bool zero_run = true;  ///< zero-run encoding after the quartic one
  /// +-1 with probability |c| / scale, instead of by rounding (3LC section 5.1, "Stoch 3-value").
  bool stochastic = false;
  std::uint64_t stream = 0;  ///< random_stream() of the tensor, for stochastic
  /// Elements with a scale of their own, the last may have fewer; 0: the whole tensor. Not where
  /// stochastic.
  std::size_t bucket = 0;
};

/// Payload: the buckets' scales as 32-bit floats, then the quartic bytes of one after the other,
/// zero-run encoded together if asked for.
std::unique_ptr<Quantizer> make_ternary_quantizer(std::size_t elements,
                                                  const TernaryOptions& options);

}  // namespace thinpipe
