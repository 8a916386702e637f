// Sparse Binary Compression's selection: one side of the distribution.
#pragma once

#include <cstdint>
#include <memory>

#include "compressors/select/ratio.h"
#include "compressors/select/selector.h"

namespace thinpipe {

struct SbcOptions {
  RatioSchedule ratio = {};
  double sample = 0;       ///< share of the elements that is sampled; 0: exact
  std::uint64_t seed = 1;  ///< of the sample; every step draws another
};

/// The k largest or the k smallest elements (signed), whichever have the greater mean magnitude,
/// the largest when both are equal (SBC alg. 2); k = target_count(ratio). With a sample (section
/// III, as DGC): what exceeds the ceil(sample * ratio * d)-th largest of it, or what is under the
/// as many smallest, however many these are.
std::unique_ptr<Selector> make_sbc_selector(std::size_t elements, const SbcOptions& options);

}  // namespace thinpipe
