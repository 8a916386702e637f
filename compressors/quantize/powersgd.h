// PowerSGD: a matrix as the product of two thin ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/kernels/low_rank.h"
#include "compressors/quantize/quantizer.h"

namespace thinpipe {

struct PowerSgdOptions {
  std::vector<std::int64_t> shape;  ///< rows = shape[0], columns = all the others together
  std::size_t elements = 0;
  std::size_t rank = 4;
  bool warm_start = true;  ///< begin with the last step's q (Vogels et al., section 3)
  std::uint64_t seed = 1;  ///< of the first q: the same for all workers
  bool in_rounds = true;   ///< workers share p: one all-reduce of p, one of q (alg. 1)
};

/// Payload: p, orthonormal columns, then q = c^T p. In rounds: the floats of the first are c q, and
/// p is their mean orthonormalised; those of the second are c^T p, and q is their mean. The part of
/// this worker, which leaves its memory, is p with its own c^T p (alg. 2, line 7). A tensor with
/// fewer than two dimensions, or one that its factors would not make smaller, is sent as it is
/// (Vogels et al., section 3 and appendix E: biases are aggregated uncompressed).
std::unique_ptr<Quantizer> make_powersgd_quantizer(const PowerSgdOptions& options);

/// A tensor's matrix and the rank of its factors; of rank 0 where it is sent as it is.
LowRankShape low_rank_shape(std::span<const std::int64_t> sides, std::size_t elements,
                            std::size_t rank);

}  // namespace thinpipe
