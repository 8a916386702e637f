// Quantisers with one scale for every block of elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "compressors/kernels/block_format.h"
#include "compressors/quantize/quantizer.h"

namespace thinpipe {

struct BlockOptions {
  BlockFormat format;
  std::uint64_t sign_seed = 1;  ///< of the rotation's signs: the same for all workers
  std::uint64_t stream = 1;     ///< of stochastic rounding: random_stream()
};

/// Payload: the blocks' scales, then the elements' codes (docs/wire-format.md).
std::unique_ptr<Quantizer> make_block_quantizer(const BlockOptions& options);

}  // namespace thinpipe
