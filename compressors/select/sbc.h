// Sparse Binary Compression's selection: one side of the distribution.
#pragma once

#include <memory>

#include "compressors/select/ratio.h"
#include "compressors/select/selector.h"

namespace thinpipe {

/// The k largest or the k smallest elements (signed), whichever have the greater mean magnitude,
/// the largest when both are equal (SBC alg. 2); k = target_count(ratio).
std::unique_ptr<Selector> make_sbc_selector(std::size_t elements, const RatioSchedule& ratio);

}  // namespace thinpipe
