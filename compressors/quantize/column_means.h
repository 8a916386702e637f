// 1-bit SGD with means for every column.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compressors/quantize/quantizer.h"

namespace thinpipe {

/// Of the 2-D view with shape[0] rows; a tensor of fewer than two dimensions is one column.
std::size_t columns_of(const std::vector<std::int64_t>& shape, std::size_t elements);

/// Seide et al., 2014, section 3.3: of the 2-D view with shape[0] rows, each column has a mean of
/// its x >= 0 and one of its x < 0. Payload: the former and the latter as 32-bit floats, then one
/// bit an element in row-major order. A tensor of fewer than two dimensions is one column.
std::unique_ptr<Quantizer> make_column_means_quantizer(const std::vector<std::int64_t>& shape,
                                                       std::size_t elements);

}  // namespace thinpipe
