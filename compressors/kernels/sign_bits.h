// One bit a value: packing signs, and the statistics of either sign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thinpipe {

/// Values x < 0 are negative, all others (-0 and NaN too) are not.
struct SignedSums {
  double positive = 0;  ///< sum of x > 0
  double negative = 0;  ///< sum of x < 0, itself negative
  std::size_t negatives = 0;
};

/// By 32 fixed partial sums in float, emptied into doubles every 2048 elements: the same bits on
/// every machine. What is not finite is left out of the sums.
SignedSums signed_sums(std::span<const float> x);

/// Bit i is set where c[i] < 0, lowest bit of each byte first; the last byte is filled with zeros.
/// Where `remainder` is not empty it becomes c - (bit ? negative : positive), 0 where that is not
/// finite; it may be the same array as c.
void sign_pack(std::span<const float> c, float positive, float negative, std::span<float> remainder,
               std::uint8_t* bits);

/// out += bit ? negative : positive
void sign_unpack_add(const std::uint8_t* bits, float positive, float negative,
                     std::span<float> out);

}  // namespace thinpipe
