// Reading packed levels out of a payload.
#pragma once

#include <span>

#include "compressors/kernels/levels.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {

/// out += step * level, codes of `bits` bits. @throws PayloadError
inline void get_levels(ByteReader& in, float step, int bits, std::span<float> out) {
  const auto packed = in.get_bytes(packed_size(out.size(), bits), "codes");
  if (!add_packed_levels(reinterpret_cast<const std::uint8_t*>(packed.data()), step, bits, out)) {
    throw PayloadError("bits after the last code are not zero");
  }
}

}  // namespace thinpipe
