// Equal levels as codes of a few bits, for the quantisers that round stochastically.
#pragma once

#include <span>

#include "compressors/quantize/bucketed.h"

namespace thinpipe {

/// Rounds as stochastic_levels() and writes packed_size() bytes. @returns levels that are not 0.
std::size_t put_levels(std::span<const float> c, float step, int bits, const BucketContext& context,
                       std::span<float> remainder, ByteWriter& out);

/// out += step * level. @throws PayloadError
void add_packed_levels(ByteReader& in, float step, int bits, std::span<float> out);

}  // namespace thinpipe
