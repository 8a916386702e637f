// Whole tensors to 16-bit floats and back; encode/half.h says how a value is rounded.
#pragma once

#include <cstdint>
#include <span>

#include "compressors/encode/half.h"

namespace thinpipe {

/// halves[i] = to_half(c[i]), as bytes, at any address. Where `remainder` is not empty it becomes
/// c - decoded, 0 where that is not finite; it may be the same array as c.
void half_pack(std::span<const float> c, HalfFormat format, std::span<float> remainder,
               std::uint8_t* halves);

/// out += factor * decoded. @returns false where a half is not finite.
bool half_unpack_add(const std::uint8_t* halves, HalfFormat format, float factor,
                     std::span<float> out);
/// out = decoded, likewise.
bool half_unpack(const std::uint8_t* halves, HalfFormat format, std::span<float> out);

}  // namespace thinpipe
