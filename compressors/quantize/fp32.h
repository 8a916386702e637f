// No quantisation: the dense baseline.
#pragma once

#include <memory>

#include "compressors/quantize/quantizer.h"

namespace thinpipe {

/// The payload is the array itself, 32-bit floats.
std::unique_ptr<Quantizer> make_fp32_quantizer();

}  // namespace thinpipe
