// Uniform tensor homomorphic compression: rotated, clamped to a range that all workers share,
// stochastically rounded to levels, whose codes could be summed without decoding them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "compressors/kernels/block_format.h"
#include "compressors/quantize/quantizer.h"

namespace thinpipe {

struct ThcOptions {
  int bits = 4;                 ///< 4 or 8
  std::size_t block = 2048;     ///< elements rotated together: a power of two, 32 to kMaxBlock
  float range = 2.154F;         ///< the range is +- so many root mean squares of the greatest block
  std::uint64_t sign_seed = 1;  ///< of the rotation's signs: the same for all workers
  std::uint64_t stream = 1;     ///< of stochastic rounding: random_stream()
};

/// Of blocks whose scale is given.
BlockFormat thc_format(int bits, std::size_t block);

/// Payload: the distance of two levels as a 32-bit float, then the codes. scale_of() is the
/// greatest root mean square of a block's rotated elements.
std::unique_ptr<Quantizer> make_thc_quantizer(const ThcOptions& options);

}  // namespace thinpipe
