// PowerSGD: a matrix as the product of two thin ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/quantize/quantizer.h"

namespace thinpipe {

struct PowerSgdOptions {
  std::vector<std::int64_t> shape;  ///< rows = shape[0], columns = all the others together
  std::size_t elements = 0;
  std::size_t rank = 4;
  bool warm_start = true;  ///< begin with the last step's q (Vogels et al., section 3)
  std::uint64_t seed = 1;  ///< of the first q: the same for all workers
};

/// Payload: p, orthonormal columns, then q = c^T p. A tensor with fewer than two dimensions, or one
/// that its factors would not make smaller, is sent as it is (Vogels et al., section 3 and
/// appendix E: biases are aggregated uncompressed).
std::unique_ptr<Quantizer> make_powersgd_quantizer(const PowerSgdOptions& options);

/// Orthonormalises the columns (arrays of `rows` floats) by Gram-Schmidt, dot products in double.
/// One that depends on those before it, to a float's precision, becomes 0.
void orthogonalize(std::span<float> columns, std::size_t rows);

}  // namespace thinpipe
