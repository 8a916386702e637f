// DeMo: the greatest cosine coefficients of every chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compressors/quantize/quantizer.h"

namespace thinpipe {

struct DemoOptions {
  std::vector<std::int64_t> shape;  ///< rows = shape[0], columns = all the others together
  std::size_t elements = 0;
  std::size_t chunk = 64;       ///< side of a chunk: a power of two, at most kMaxDct
  std::size_t k = 32;           ///< coefficients sent of each chunk
  std::string values = "fp32";  ///< a value codec by its name
};

/// Payload: that of a sparse method over the coefficients, with `chunked` positions.
std::unique_ptr<Quantizer> make_demo_quantizer(const DemoOptions& options);

}  // namespace thinpipe
