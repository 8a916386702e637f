// Hierarchical selection by a sampled threshold (Deep Gradient Compression, section 5).
#pragma once

#include <cstdint>
#include <memory>

#include "compressors/select/ratio.h"
#include "compressors/select/sample.h"
#include "compressors/select/selector.h"

namespace thinpipe {

struct DgcOptions {
  RatioSchedule ratio = {};
  double sample = 0.01;  ///< share of the elements that is sampled
  Sampling sampling = Sampling::kUniform;
  std::uint64_t seed = 1;  ///< of the sample; every step draws another
};

/// The top ceil(sample * ratio * d) of the sample give a threshold. More than 1.3 k above it: the
/// exact top k of these. Fewer than 0.8 k: the threshold times 0.8 and again, at most 10 times.
std::unique_ptr<Selector> make_dgc_selector(std::size_t elements, const DgcOptions& options);

}  // namespace thinpipe
